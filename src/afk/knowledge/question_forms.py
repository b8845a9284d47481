"""What can be asked for in words, and how one tells: tables of patterns, for `afk.knowledge.questions`.

The patterns are of one clause of a sentence, in lower case and without marks, in which ``X0`` and ``X1`` stand
for what has a name: ``blue ball``, ``kitchen``, ``lettuce``. A ``|`` stands between clauses.
"""

import re
from dataclasses import dataclass, replace


def _any(words: str) -> str:
    """A pattern of one of the words; an underscore stands for a space."""
    return rf"\b(?:{'|'.join(words.split()).replace('_', ' ')})\b"


OWNER = _any("jack mary")
COLOURS = ("blue", "green", "grey", "yellow", "red", "purple")
THINGS = ("ball", "box", "key", "door", "square")  # named with a colour
ROOMS = ("kitchen", "restroom", "livingroom")
FOOD = frozenset(
    "apple banana carrot cheese cilantro egg flour leg lettuce meat milk oil onion parsley pepper potato salt "
    "sugar tomato tuna water wing".split()
)
# What else is said for a word.
SYNONYMS = {
    "livingroom": "living_room sitting_room family_room drawing_room front_room tv_room lounge_room lounge",
    "restroom": "bathroom bath_room rest_room washroom toilets? loo lavatory wc ladies_room gents",
    "favourite": "favou?rites? favs? faves?",
    "grey": "gray",
    "colour": "colou?rs? colou?red hue shade",
    "toy": "playthings? toys",
    "suitcase": "suitcases luggage suit_case trunk valise travel_bag bag (?<!in_)(?<!that_)case",
    "cookbook": "cook_book recipe_book",
    "recipe": "cookbook(?=_says?)",
    "stove": "stovetop stove_top cooker hob",
    "the griller": "the_grill",
    "what": "whats",
    "where": "wheres",
    "who": "whos",
    "how": "hows",
    "not": "nt dont doesnt didnt isnt arent wasnt wont cant cannot couldnt wouldnt shouldnt havent hasnt mustnt",
    "do not know": "dunno",
    "give me": "gimme",
    "let me": "lemme",
    "want to": "wanna",
    "got to": "gotta",
    "knife": "knives",
    "jack": "jacks",
    "mary": "marys",
}

X = r"\bX\d\b"
_THE = _any("the a an my your his her their our its this that these those some any")
_AUX = _any(
    "is are was were am be been being has have had do does did can could shall should will would may might "
    "must get gets got not to need needs"
)
_PUT = _any(
    "put place placed leave left drop dropped hide hid hidden keep kept store stored stash stashed lose lost "
    "misplace misplaced stick stuck set lay laid chuck chucked toss tossed throw thrown tuck tucked park "
    "parked dump dumped move moved stow stowed shove shoved deposit deposited forget forgot abandon"
)
PREPARE = _any(
    "prepare prepared prepares preparing preparation preparations prep prepped cook cooked cooking cut cuts "
    "cutting chop chopped chopping slice sliced slicing slices dice diced dicing fry fried frying roast "
    "roasted roasting grill grilled grilling bake baked baking boil boiled steamed peel peeled process "
    "processed processing handle handled handling treat treated treatment deal tackle tackled mince minced "
    "recipe instructions transform transformed"
)
# Words that ask for nothing themselves. A slot is a place of a sentence where only these may stand.
_PLAIN = _any(
    "a about actually again all am an and any anybody anyone anything anywhere are around as asap at be been "
    "being best beside behind between both bro buddy but by came can charlie cheers close could currently did "
    "different direction do does done dude east either else end ended ever every everybody everyone exactly "
    "find for friend from get go goes gone got grab forgot found guys had hang hangs happen has have he head help "
    "her here hey him his how i if in inside into is it its jack just kindly know lie lies like likes live "
    "lives locate located location look looks love man mary mate may me might must my near nearby need "
    "needs next nor north not now obtain of off ok okay on one open opens unlock ones or our out outside over pal perhaps "
    "please pls plz position precisely quick reach ready really reside resides rest right run s saw say "
    "search see seek seen serve served shall she should show sir sit sits situated situation so somebody "
    "someone something somewhere south spot spotted stand stands start stay stays still such suppose supposed "
    "take taken than thank thanks that the their them then there these they thing things think this those "
    "though thx to today too took towards turn turned u under up us use vanish vanished want wants was way we "
    "well went were west what where whereabouts which while who will wind with within work would you "
    r"first begin your last_seen last_left last_put before_\w+ after_\w+ \w+ly \w+ing"
    f" meant require requires {_AUX} {_PUT} {PREPARE} {X}"
)
# What "which" may be followed by, besides.
_HEAD = _any(
    "corridor door hallway makes area ball box boxes building bit cabinet colour container corner contains correct cupboard dangerous deadly "
    "fashion favourite fits fit floor form furniture ground holds house item items key keys kind lethal "
    "location manner method object objects opens open part parts piece place places room rooms safe safest "
    "section shape shelf side sort spots square squares step steps style suitcase surface surfaces technique "
    "tile tiles toy type unlocks unlock unsafe zone zones matches belongs hazardous harmful fatal hiding "
    "course route path on_earth the_hell exact state treatment owns prefers kills serves"
)
# What "of" may follow before a name.
_OF = _any(
    "hold rest inside instead knowledge location need one out part place position preparation pursuit quest room "
    "search sight sign some spot speaking think trace track treatment hiding_place way whereabouts direction"
)


_STEP = _any("step walk tread set_foot dangerous safe unsafe deadly risky forbidden")


def _slot(before: str, *others: str) -> str:
    """What bars a reading: another word than a plain one, or one of the others, in a slot after something."""
    return rf"{before} (?!{'|'.join((_PLAIN, *others))})\w"


_I = r"\b(?:i|you|we|they|he|she|it|someone|somebody|anyone|anybody|people|jack|mary)"

# Whatever asks for something else, in every world.
ELSE = (
    _slot(r"\bhow"),  # how many, how heavy, how long
    r"\bhow (?!exactly|precisely|actually|really)\w+ly\b",
    _slot(r"\b(?:what|which)(?! is (?:s )?(?:the|a))", _HEAD),  # what time, which door
    _slot(rf"{X}(?: {_AUX})*"),  # kitchen table, red box made by
    rf"{_THE} (?!{_PLAIN}|(?:bloody|damn|damned|darn|blasted|freaking|stupid|silly|missing|same|main|whole|nearest|closest)\b)\w+ {X}",
    rf"\b(?!{_OF})\w+ of (?:{_THE} )?{X}",  # the price of
    rf"\b(?:keys?|door|handle|lid|lock) (?:to|for|on) (?:{_THE} )?{X}",
    _slot(rf"\bwhere (?:\w+ )??{_AUX} {_I}(?: {_AUX})*", _STEP),  # where did she buy
    r"\bhow (?:did|was|were)\b|\b(?:blue|green|grey|yellow|red|purple|black|white|pink|other) one\b",
    r"\b(?:thanks|thank you) for (?:telling|showing|saying)\b|\btell (?:jack|mary) (?:that|about|to|i|where|who|what)\b",
    rf"\bwhy\b|\bwhen {_AUX}|\bwhom\b",
    r"\bwho (?!(?:else |here |might |would |could |can |may |has |have |got |is |the )*"
    r"(?:know|knows|tell|help|say|show|point|hold|holds|holding|carries|carrying|keeps|keeping|X\d)\b)",
    # Somebody who does not want to be told, or knows it.
    r"(?:^|\| |\b(?:do|please|just|you|must|need|should|rather) )(?:not|never|stop) (?:you |have |need |dare |to )*"
    r"(?:(?:want|need|wish|care|rather) (?:you )?(?:to )?(?:know|hear|be told|see)|tell|telling|say|saying|show|reveal|"
    r"spoil|bother)\b|\brather not know\b",
    r"\bsecret\b|\bno need\b|\bnever mind\b|\bnot (?:interested|asking)\b|\bforget about\b|\bwithout (?:telling|saying)\b",
    r"(?:^|\| |and |but |so |yes )i (?:already |now |just |think i )*(?:know|knew|remember|found out)(?: already)? \| ",
    # Opinions, properties, stories.
    rf"(?:^|\| )(?:{_any('so and but')} )?(?:do|would|did|are) you {_any('like love prefer enjoy hate feel fancy eat own')}(?!.*{PREPARE} or)",
    r"\byou think (?:of|about)\b|\byour (?:own |personal )?(?:favourite|opinion|name)\b|\bwhat if\b|\bwhat do(?:es)? .*\bmean\b|\bhappen(?:s|ed)? (?:if|when|to me)\b",
    _any(
        "cost costs price worth weigh weighs weight heavy heavier heaviest big bigger biggest larger largest "
        "smaller smallest older oldest taste tastes smell smells size made_of made_from song joke "
        "story poem calories healthy yesterday tomorrow"
    ),
)


# Words that ask for something to be said, and such as ask for a place.
_ASKS = _any(
    "what which how where whose tell name describe identify remind say show point recognise recognize explain inform "
    "idea clue you_know to_know know_what know_which help find reveal specify state mention give_me hint wonder "
    "wondering curious guess define anyone_know someone_know know_of"
)
_SEEKS = "|".join(
    (
        _any(
            "where whereabouts location located locate locating find finding seek seeking search searching "
            "hunting position track_down seen see spotted come_across came_across hiding hold_of"
        )
        + r"(?! out\b)",
        r"\blook(?:ing|ed)? (?:\w+ )?(?:for|at)\b",
        rf"\b(?:which|what|whose|name|tell me|know|say|in)(?: \w+){{0,2}} "
        + _any(
            "room place spot part corner area side container suitcase section shelf direction way furniture "
            "surface"
        ),
        r"\b(?:in|on|inside|under|of) (?:what|which)\b",
        rf"\b(?:contain\w*|holds|holding|houses|keeps) (?:{_THE} )?{X}",
        rf"\bwho (?:\w+ )*?(?:has|holds|holding|carries|carrying|keeps|keeping|got) (?:{_THE} )?{X}",
        rf"\b(?:way|route|path|directions?|point\w*) (?:\w+ ){{0,3}}?{X}|{X} (?:\w+ )?directions?\b",
        rf"{X} (?:place|room|spot|way)\b|\b(?:room|place|spot) of\b",
        r"\b(?:point|direct|guide|lead|take|walk|steer|bring|send|show|get|navigate)\w* (?:me|us|out|someone)"
        rf" (?:\w+ ){{0,4}}?(?:to|toward|towards|at) ",
        rf"\b(?:which|what) .*\b(?:leads?|gets?|takes?|go|goes|reach) (?:me |us )?(?:to |into )?(?:{_THE} )?{X}",
        rf"\b(?:point (?:out|to)|show me) (?:{_THE} )?{X}",
        r"\bhow (?:\w+ ){0,4}(?:get|go|reach|come|navigate)\b",
        rf"(?:(?:^|\| )(?:is|are|was) (?:{_THE} )?{X}|\b(?:if|whether) (?:{_THE} )?{X} is) (?:\w+ ){{0,2}}?"
        + _any("there jack mary east west north south left_or around nearby near this_way here anywhere somewhere upstairs"),
        rf"\bis there (?:{_THE} )?{X} .*{_any('here nearby anywhere somewhere around close near')}",
    )
)
_DANGER = (
    _any(
        "danger dangers dangerous deadly lethal fatal unsafe hazard hazards hazardous harmful harm harms kill "
        "kills killing killer bad avoid poisonous toxic safe safely die death trap traps forbidden risky hurt hurts perilous "
        "treacherous careful beware wary off_limits watch_out"
    )
    + r"|\b(?:stay|keep|steer) (?:\w+ )?(?:away|clear|off)\b"
    + r"|\b(?:not|never) (?:\w+ ){0,3}?(?:step|walk|tread|stand|touch|go|cross)\b"
)
_TOY = _any(
    "toy favourite like likes liked love loves loved prefer prefers preferred play plays playing fond fondest "
    "treasures treasure cherishes cherish adore adores favours favors enjoy enjoys dearest"
)
_TOYS = _any("toy object thing item one kind sort type ball box key is of to a does would are or was called")
_MAY = "(?:do|can|could|should|shall|must|may|might|would|am|are)"


@dataclass(frozen=True)
class Form:
    """Something to ask for.

    Attributes:
        query: ``<func, adj, noun>``; OWNER stands for who is named, NAME for adjective and noun of what is.
        nouns: what may be named in it; None if anything may.
        signs: patterns that are all found in what asks for it.
        bars: patterns of which none is.
        brief: a pattern of a whole clause that asks for it although it lacks a sign.
    """

    query: str
    nouns: frozenset[str] | None
    signs: tuple[str, ...]
    bars: tuple[str, ...] = ()
    brief: str = "$^"

    def fits(self, clause: str) -> bool:
        """Whether a clause asks for it."""
        if re.fullmatch(self.brief, clause):
            return True
        return all(re.search(sign, clause) for sign in self.signs) and not any(
            re.search(bar, clause) for bar in self.bars
        )


_HOW_ELSE = r"\bhow\b(?!.*\b(?:recogni[sz]e|know|tell|identify|spot|looks?|find|distinguish|see))"
_PUTTING = _any("put place leave drop bring take(?!_to) stick set return deliver throw")
WHERE = Form(
    "where NAME",
    None,
    (X, _SEEKS),
    (
        r"\bwhere (?:is|are) not\b",
        r"\bwhere did \w+ (?:find|get)\b",
        rf"\bwhere (?:\w+ )?(?:to|{_MAY} (?:i|we)(?: {_AUX}| supposed| meant)*) (?:now )?{_PUTTING}",
    ),
)
GRID = (
    Form(
        "what none key",
        frozenset({"door"}),
        (
            rf"\bkeys?\b|\b(?:un)?lock(?:s|ed)?\b|\bopens?\b|\bthrough\b|\bpast\b",
            rf"\bkeys?\b|\bdoor\b|\block\b|{X}|\bthis\b",
            _any("what which how tell name right correct know identify say colour proper or"),
        ),
        (
            OWNER,
            r"\bhow\b(?!.*\b(?:know|tell|identify|see|open|opens|opened|unlock|unlocked|through|past)\b)",
            rf"{_I} lock\b",
            r"\bwhere\b|\bbehind\b|\bwh(?:at|ich) doors?\b|\bopen (?:or|yet|already)\b|(?!best)\b\w+est$",
            _any("toy suitcase box ball room danger dangerous deadly"),
        ),
        rf"(?=.*\bkey)(?:{_any('key door lock locked the which what right correct unlock open to for this please pls my')} ?)+",
    ),
    WHERE,
    Form(
        "what OWNER suitcase",
        frozenset(),
        (OWNER, r"\bsuitcase\b|\bbox(?:es)?\b", rf"{_ASKS}|\bor\b"),
        (_HOW_ELSE, _any("where toy play plays pack packed lose lost"), r"\bwhich (?:box|suitcase) is .* in$"),
        rf"(?:{OWNER}|{_any('suitcase the of which box please pls colour s')}| )+",
    ),
    Form(
        "what OWNER toy",
        frozenset(),
        (OWNER, _TOY, rf"{_ASKS}|\bor\b"),
        (
            _HOW_ELSE,
            _any("where suitcase about(?!_jack)(?!_mary)(?!_the)"),
            rf"\bfavourite (?!{_TOYS})\w",  # favourite room
            r"\b(?:likes?|loves?) to (?!play|have|hold|own)",
            r"^(?!.*\btoy\b).*\blooks? like|\bis (?:jack|mary) like|\bcolour does\b|\bdoes (?:jack|mary) (?:do|play)$",
        ),
        rf"(?:{OWNER}|{_any('toy favourite the of best please pls loved')}| )+",
    ),
    Form(
        "what danger zone",
        frozenset(),
        (
            _DANGER,
            _ASKS + r"|\b(?:is|are) (?:there|any|it)\b|\bor\b",
        ),
        (_HOW_ELSE, OWNER, _any("key keys door box ball toy suitcase")),
        rf"(?:{_any('danger dangerous deadly lethal unsafe zone zones colour tile tiles floor the of please pls')} ?)+",
    ),
)
_PLACED = _any("where whereabouts find location locate looking")
KITCHEN = (
    Form(
        "how NAME",
        FOOD,
        (
            X,
            PREPARE,
            _any(
                "how what which should must shall or supposed meant needs? need_to have_to has_to describe explain you_want would_you_like way "
                "tell recipe instructions teach method to_be"
            ),
        ),
        (
            _PLACED,
            r"(?:^|\| )(?:please )?(?:can|could|will|would) (?:you|someone|somebody) (?:please )?" + PREPARE,
            rf"\b(?:cook|make|bake|prepare) (?:\w+ )?(?:with|from|out of|using) |\b(?:use|with what|tool)\b",
        ),
    ),
    Form(
        "how NAME",
        FOOD,
        (
            X,
            r"\bhow\b|\bwhat\b|\b(?:which|what) (?:way|form|style|state|shape)\b",
            r"\b(?:do|done|doing) (?:\w+ )?(?:with|to|about|X\d|the X\d)\b|\b(?:want|wants|like|liked|say|says|need|needs|"
            r"needed|have|has|go|goes|happen|serve|served|ready|made|make|be|required?|requires|work|expected)\b",
        ),
        (_PLACED, r"\b(?:get|reach|go) (?:to )?X|\bwith X\d (?:go|goes)|\b(?:go|goes) (?:well )?with\b|\bcan i make\b"),
        rf"(?=.*{_any('how recipe preparation instructions cooking')})(?:{_any('how please pls the a do with and about what for')} )*{X}(?: {_any('how please pls recipe then')})*(?<!^X\d)|(?:{_any('preparation recipe instructions cooking of for the')} )+X\d",
    ),
    replace(WHERE, bars=(*WHERE.bars, rf"{PREPARE} .*{X}|{X} (?:{_AUX} )*{PREPARE}")),
)
