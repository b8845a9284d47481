"""The words of questions: names, other words for the same, and lists of words that patterns are made of."""

COLOURS = ("blue", "green", "grey", "yellow", "red", "purple")
THINGS = ("ball", "box", "key", "door", "square")  # named with a colour
ROOMS = ("kitchen", "restroom", "livingroom")
FOOD = frozenset(
    (
        *(
            "apple",
            "banana",
            "carrot",
            "cheese",
            "cilantro",
            "egg",
            "flour",
            "leg",
            "lettuce",
            "meat",
            "milk",
        ),
        *("oil", "onion", "parsley", "pepper", "potato", "salt", "sugar", "tomato", "tuna", "wing"),
    )
)
# What is read as a word, as patterns.
SYNONYMS = {
    "livingroom": "living room|sitting room|family room|drawing room|front room|tv room|lounge room|lounge",
    "restroom": "bathrooms?|bath room|rest room|washroom|toilets?|loo|lavatory|wc|ladies room|gents",
    "favourite": "favou?rites?|favorit|favs?|faves?",
    "grey": "gray",
    "colour": "colou?rs?|colou?red|hue|shade",
    "toy": "playthings?|toys",
    "suitcase": "suitcases|luggage|suit case|trunk|valise|travel bag|bag|(?<!in )(?<!that )case",
    "cookbook": "cook book|recipe book",
    "recipe": "cookbook(?= says?)",
    "stove": "stovetop|stove top|cooker|hob",
    "the griller": "the grill",
    "knife": "knives",
    "what": "whats",
    "where": "wheres|where abouts",
    "who": "whos",
    "how": "hows",
    "do not": "dont",
    "not": "nt|doesnt|didnt|isnt|arent|wasnt|wont|cant|cannot|couldnt|wouldnt|shouldnt|havent|hasnt|mustnt",
    "do not know": "dunno",
    "give me": "gimme",
    "let me": "lemme",
    "want to": "wanna",
    "got to": "gotta",
    "jack": "jacks",
    "mary": "marys",
}

# Lists of words by their names, which stand for one of them; an underscore stands for a space. Those that are
# plain ask for nothing themselves.
_LISTS = {
    "THERE": """
        in_there there in_OWNER with_OWNER by_OWNER near_OWNER in_here around_here near nearby here
        anywhere somewhere around upstairs east west this_way
    """,
    "TOY": "toy object thing item one kind sort type ball box key is of to particular OWNER",
    "PLAIN": r"""
        a about above actually again all alone am among an and any anybody anyhow anyone anything anyways
        anywhere are around as asap at begin behind below beneath beside best between boss both bro buddy
        but by came can charlie check cheers close come_across come_by currently different direction
        discover done downstairs dude east eh either else end ended even ever every everybody everyone
        exactly explore find folks for found from get go goes gone grab guys haha hang hangs happen head
        help her here hey him his hmm how huh i if in inside into it its jack just kindly know last_left
        last_put last_seen lie lies like likes live lives locate located location lol look looks love maam
        man mary mate me mean meant meanwhile minute miss mister moment my near nearby next nor north now
        nowhere obtain of off ok okay on one ones only open opens or our out outside over pal perhaps
        please pls plz position precisely proceed quick reach ready really recommend require requires
        reside resides rest right run s saw say search see seek seen serve served she show sir sit sits
        situated situation so somebody someone something somewhere south spot spotted stand stands start
        stay stays still such suggest suppose supposed take taken team than thank thanks that the their
        them then there these they thing things think this tho those though thx today too took towards
        turn ty u under unlock until up upstairs us use vanish visit walk want wants way we well went west
        what where whereabouts which while who wind with within work yet you your whole raw before_\w+
        after_\w+ \w+ly \w+ing AUX PUT PREPARE X
    """,
    "AUX": """
        is are was were am be been being has have had do does did can could shall should will would may
        might must ought get gets got not to need needs seem seems
    """,
    "OWNER": "jack mary",
    "ARTICLE": "the a an my your his her their our its this that these those some any",
    "WHOEVER": "i you we they he she it one someone somebody anyone anybody people jack mary charlie",
    "COLOUR": "blue green grey yellow red purple",
    "PUT": """
        put puts place placed leave left drop dropped hide hid hidden keep kept store stored stash stow
        lose lost misplace stick stuck set lay laid chuck toss throw thrown tuck park dump move shove
        deposit forget forgot abandon bury conceal ditch pop shelve tidy
    """,
    "STEP": """
        step stepping walk walking tread treading stand standing touch touched go cross enter feet foot
    """,
    "RISKY": "dangerous deadly lethal fatal unsafe safe hazardous harmful risky forbidden poisonous bad",
    "PLACE": """
        room rooms place spot part corner area side section container suitcase shelf surface furniture
        hallway direction way corridor turn
    """,
    "HAS": "has got holds holding houses keeps keeping hides hiding carries carrying knows know",
    "BEING": "is be been to found kept placed located still also now lying hidden",
    "WISH": "have need dare bother want wish you to even ever",
    "MAY": "do does can could should shall must may might would",
    "BRING": "use put place leave drop hide bring take(?!_to) stick set return deliver throw",
    "PREPARE": """
        prepare prepared prepares preparing preparation preparations prep prepped cook cooked cooking cut
        cuts cutting chop chopped chopping slice sliced slicing slices dice diced dicing fry fried frying
        roast roasted roasting grill grilled grilling bake baked baking boil boiled steam steamed peel
        peeled process processed processing handle handled handling treat treated treatment deal tackle
        tackled mince minced recipe instruction instructions transform transformed fix
    """,
    "KNOW": """
        know tell recognise recognize recognised recognized identify spot look looks find distinguish see
        describe
    """,
    "OPEN": "open opens opened unlock unlocked through past get_in enter know tell identify see",
    "TELL": "tell telling say saying show reveal spoil mention",
    "MILD": """
        bloody wretched dear poor big elusive famous mysterious damn darn stupid silly same main nice
        lovely little
    """,
}


def any_of(ways: str) -> str:
    """A pattern that fits if one of the ways does.

    Args:
        ways: patterns and remarks, one in a line. In a pattern the name of a list stands for one of its
            words, ``X`` for what has a name, ``THE`` for an article or none, ``START`` for where a clause
            begins, and two points for up to six words.
    """
    lines = [line.strip() for line in ways.strip().splitlines()]
    text = "|".join(line for line in lines if not line.startswith("#"))
    text = text.replace("THE ", "(?:ARTICLE )?").replace("START ", r"(?:^|(?<=\| ))")
    text = text.replace(" .. ", r" (?:\w+ ){0,6}?")
    for name, words in _LISTS.items():
        text = text.replace(name, f"(?:{'|'.join(words.split()).replace('_', ' ')})")
    text = text.replace("X", r"X\d")
    return rf"\b(?:{text})\b"


X, OWNER = any_of("X"), any_of("OWNER")
