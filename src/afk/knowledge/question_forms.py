"""What can be asked for in words, and what tells it: tables of patterns, for `afk.knowledge.questions`.

Patterns are regular expressions of one clause, in lower case and without marks, where ``X0``, ``X1`` stand for
what has a name: ``blue ball``, ``kitchen``, ``lettuce``. In them, a word in capitals stands for one of a list of
words, THE for an article or none, START for where a clause begins, and `` .. `` for up to six words.
"""

import re
from dataclasses import dataclass

COLOURS = ("blue", "green", "grey", "yellow", "red", "purple")
THINGS = ("ball", "box", "key", "door", "square")  # named with a colour
ROOMS = ("kitchen", "restroom", "livingroom")
FOOD = frozenset(
    "apple banana carrot cheese cilantro egg flour leg lettuce meat milk oil onion parsley pepper potato salt "
    "sugar tomato tuna wing".split()
)
SYNONYMS = {
    "livingroom": "living room|sitting room|family room|drawing room|front room|tv room|lounge room|lounge",
    "restroom": "bathrooms?|bath room|rest room|washroom|toilets?|loo|lavatory|wc|ladies room|mens room|gents",
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
_AUX = (
    "is are was were am be been being has have had do does did can could shall should will would may might must "
    "ought get gets got not to need needs seem seems"
)
_PUT = (
    "put puts place placed leave left drop dropped hide hid hidden keep kept store stored stash stow lose lost "
    "misplace stick stuck set lay laid chuck toss throw thrown tuck park dump move shove deposit forget forgot "
    "abandon bury conceal ditch pop shelve tidy"
)
_PREPARE = (
    "prepare prepared prepares preparing preparation preparations prep prepped cook cooked cooking cut cuts "
    "cutting chop chopped chopping slice sliced slicing slices dice diced dicing fry fried frying roast roasted "
    "roasting grill grilled grilling bake baked baking boil boiled steam steamed peel peeled process processed "
    "processing handle handled handling treat treated treatment deal tackle tackled mince minced recipe "
    "instructions transform transformed"
)
# Words that ask for nothing themselves.
_PLAIN = (
    "a about actually again all am an and any anybody anyone anything anywhere are around as asap at begin best "
    "beside behind between both bro buddy but by came can charlie check cheers close come_across currently "
    "different direction discover done dude east either else end ended ever every everybody everyone exactly "
    "explore find for found friend from get go goes gone grab guys hang hangs happen head help her here hey him "
    "his how i if in inside into it its jack just kindly know last_left last_put last_seen lie lies like likes "
    "live lives locate located location look looks love man mary mate me mean meant my near nearby next nor "
    "north now nowhere obtain of off ok okay on one ones open opens unlock or our out outside over pal perhaps please "
    "pls plz position precisely proceed quick reach ready really recommend require requires reside resides rest "
    "right run s saw say search see seek seen serve served she show sir sit sits situated situation so somebody "
    "someone something somewhere south spot spotted stand stands start stay stays still such suggest suppose "
    "supposed take taken than thank thanks that the their them then there these they thing things think this "
    "those though thx today too took towards turn u under up us use vanish visit walk want wants way we well "
    r"went west what where whereabouts which while who wind with within work you your before_\w+ after_\w+ \w+ly "
    r"\w+ing X"
)
_LISTS = {
    "AUX": _AUX,
    "PUT": _PUT,
    "PREPARE": _PREPARE,
    "PLAIN": f"{_PLAIN} {_AUX} {_PUT} {_PREPARE}",
    "OWNER": "jack mary",
    "ARTICLE": "the a an my your his her their our its this that these those some any",
    "WHOEVER": "i you we they he she it one someone somebody anyone anybody people jack mary charlie",
    "STEP": "step stepping walk walking tread treading stand standing touch touched go cross enter set_foot",
    "RISKY": "dangerous deadly lethal fatal unsafe safe hazardous harmful risky forbidden poisonous bad",
    "PLACE": "room place spot part corner area side section container suitcase shelf surface furniture hallway "
    "direction way corridor turn",
}


def _any(*ways: str) -> str:
    """A pattern that any of the ways fits, words in capitals spelled out."""
    text = "|".join(ways).replace("THE ", "(?:ARTICLE )?").replace(" .. ", r" (?:\w+ ){0,6}?")
    text = text.replace("START ", r"(?:^|(?<=\| ))")
    for _ in range(2):  # PLAIN has X in it
        text = re.sub(r"\bX\b(?!\\d)", r"X\\d", text)
        text = re.sub(
            r"\b[A-Z]{3,}\b", lambda name: f"(?:{_LISTS[name[0]].replace(' ', '|').replace('_', ' ')})", text
        )
    return rf"\b(?:{text})\b"


X, OWNER = _any("X"), _any("OWNER")
# What asks for something else, in every world. After some words only plain ones may stand: these are slots.
ELSE = (
    _any(r"how (?!PLAIN\b)\w+"),  # how many, how heavy, how long
    _any(r"X (?:AUX )*(?!(?:PLAIN|\w+ed)\b)\w+"),  # kitchen table, blue ball come from
    _any(r"X (?:AUX )*(?:painted|produced|manufactured|purchased|cleaned|washed|used|created|invented|repaired)"),
    _any(r"ARTICLE (?!(?:PLAIN|\w+est|\w+ed|bloody|wretched|dear|poor|big|elusive|famous|mysterious|damn|darn|stupid|silly|same|main|nice|lovely|little)\b)\w+ X"),
    _any(r"where (?:\w+ )??AUX WHOEVER(?: AUX| \w+ly)* (?!(?:PLAIN|STEP|RISKY)\b)\w+"),  # where did she buy
    _any(r"(?!(?:exactly|precisely|actually|really)\b)(?<=\bhow )\w+ly", "how (?:did|was|were)"),
    _any("why", "when AUX", "(?:blue|green|grey|yellow|red|purple|black|white|pink|other) one"),
    _any(
        "who (?!(?:else |i |here |might |would |could |can |may |has |have |got |is |the )*"
        r"(?:knows?|ask|tell|help|say|show|point|holds?|holding|carries|carrying|keeps|keeping|hiding|hides|X\d)\b)\w+"
    ),
    # Who does not want to be told, or knows it.
    _any(
        "(?<!can )(?<!could )(?<!would )(?<!will )(?<!did )(?<!does )(?:not|never|stop) "
        "(?:have |need |dare |bother |want |wish |you |to |even |ever )*(?:tell|telling|say|saying|show|reveal|spoil)",
        "not (?:really |even )?(?:want|need|wish|care|have)(?: you)?(?: to)?(?: \\|)? (?:know|hear|be told|see|where|what|which|how)",
    ),
    _any("secret", "no need", "never mind", "rather not know", "not (?:interested|asking)", "forget about", "point of(?! view)", "(?:let me|i) (?:will |can )?(?:tell|show) you"),
    _any(r"(?:START |and |but |so |yes )i (?:already |now |just )*(?:know|knew|remember|found out)(?: already)? \| \w+"),
    _any("(?:thanks|thank you) for (?:telling|showing)", "tell OWNER (?:that|about|to|i|where|who|what)"),
    # Opinions, what would happen, what something is like.
    _any(
        "(?<!how )(?:do|would|did|are) you (?:like|love|prefer|enjoy|hate|fancy|eat|own)(?!.*PREPARE or)",
        "how (?:do|can|would|could) you know",
        "you think (?:of|about)",
        "your (?:own |personal )?(?:favourite|opinion|name)",
    ),
    _any("what if", "what (?:would )?happens?", "happens? (?:if|when|to me)", "what do(?:es)? .* mean"),
    _any(
        r"costs?|price|worth|weighs?|weight|size|heav\w+|big\w*|largest?|larger|smaller|smallest|old\w*|tast\w+"
        "|smells?|made of|made from|song|joke|story|poem|calories|healthy"
    ),
)

# What asks for something to be said, and what for a place.
_ASKS = _any(
    "what|which|how|where|whose|tell|name|describe|description|identify|remind|say|show|point|recogni[sz]e|explain"
    "|inform|idea|clue|(?:you|to|anyone|someone|and) know|know (?:what|which|of)|help|find|reveal|specify|state"
    "|mention|hint|wonder|wondering|curious|guess|define|list|warn|or|colour|(?:is|are) there|is$"
)
_SEEKS = _any(
    "where|whereabouts|locat(?:e|ed|ing|ion)|position|address|coordinates|any (?:ideas?|clues?|hints?|trace|sign|luck)|seek|seeking|seen|spotted|hiding|hold of|track down",
    "find(?:ing)?(?! out)|(?:see|saw|came across|come across) THE X",
    r"(?:look\w*|search\w*|hunt\w*|quest|after)(?: .. )?(?: )?(?:for|at)? ?THE X",
    "(?:which|what|whose|name|tell me|know|say|in) (?:\\w+ ){0,2}?PLACE",
    "(?:in|on|inside|under|of|with) (?:what|which|whom|who)",
    "what .. X (?:\\w+ )?(?:in|on|inside)(?: of)?$",
    "contain\\w* THE X|(?:which|who|what|one) .. (?:has|got|holds|holding|houses|keeps|keeping|hides|carries|carrying) THE X",
    "(?:way|route|path|directions?|point|points) .. X|X directions?|X (?:\\w+ )?(?:place|room|spot)|(?:room|place|spot) of",
    "(?:direct|guide|lead|take|walk|steer|bring|send|show|get|point|pointing|navigate) (?:me|us|out) .. (?:to|towards?|at)",
    "show me THE X|how .. (?:get|go|reach|come|navigate)",
    "(?:which|what) .. (?:leads?|gets?|takes?|goe?s?|reach) (?:me |us )?(?:to |into )?THE X",
    "(?:left|right|east|west|north|south|one) or",
    "(?:START (?:is|are|was|could|might|may|can)|if|whether) THE X(?: is| be| still| also| now| somewhere| lying| hidden)* (?:there|(?:in|with|by|near) OWNER|(?:in|around|over) here|near|nearby|here|anywhere"
    "|somewhere|around|upstairs|east|west|this way)",
    "(?:did|have|has) WHOEVER PUT THE X there",
    "(?:is there|are there|any) THE X .. (?:here|nearby|anywhere|somewhere|around|close|near)",
)
_DANGER = _any(
    "dangers?|RISKY|hazards?|harms?|kill\\w*|avoid\\w*|toxic|safely|die|dying|death|traps?|hurts?|perilous"
    "|treacherous|careful|beware|wary|off limits|no go|(?:watch|look) out",
    "(?:stay|keep|steer) .. (?:away|clear|off)|(?:not|never) .. STEP",
    "(?:tiles?|floor|colour) .. (?:step|walk|tread|stand) on",
)
_TOY = _any(
    "toy|favourite|likes?|liked|loves?|loved|prefers?|preferred|plays?|playing|fond\\w*|treasure[sd]?|cherish\\w*"
    "|adores?|favou?rs|enjoys?|dearest|prized"
)
_HOW_ELSE = _any("how(?! .. (?:recogni[sz]ed?|know|tell|identify|spot|looks?|find|distinguish|see|describe)\\b)")


@dataclass(frozen=True)
class Form:
    """Something to ask for.

    Attributes:
        query: ``<func, adj, noun>``; OWNER stands for who is named, NAME for adjective and noun of what is.
        nouns: the nouns of what may be named; None if they may be any.
        signs: patterns that are all found in what asks for it.
        bars: patterns of which none is.
        brief: a pattern of a whole clause that asks for it although it lacks a sign.
    """

    query: str
    nouns: frozenset[str] | None
    signs: tuple[str, ...]
    bars: tuple[str, ...]
    brief: str = "$^"

    def may_be_of(self, nouns: set[str], owners: set[str]) -> bool:
        """Whether a clause that names such things, and such owners, may ask for it."""
        is_one = "OWNER" not in self.query or len(owners) == 1
        return is_one and (self.nouns is None or nouns <= self.nouns)

    def fits(self, clause: str) -> bool:
        """Whether a clause asks for it."""
        if re.fullmatch(self.brief, clause):
            return True
        is_asked = all(re.search(sign, clause) for sign in self.signs)
        return is_asked and not any(re.search(bar, clause) for bar in self.bars)


_WHERE = Form(
    "where NAME",
    None,
    (X, _SEEKS),
    (
        _any("(?:owner|price|lid|handle|switch|door|keys?|middle|history|back|top) (?:of|to|for|on) THE X"),
        _any("where (?:was|will) .* (?:yesterday|tomorrow|last \\w+$)|where (?:is|are) not|where did \\w+ (?:find|get)"),
        # Where to put it; where the potato is cooked.
        _any(
            "where (?:\\w+ )?(?:to|(?:do|can|could|should|shall|must|may|might|would|am|are) (?:i|we)"
            "(?: AUX| supposed| meant)*) (?:put|place|leave|drop|hide|bring|take(?! to)|stick|set|return|deliver|throw)",
            "where (?:should|shall|must|do|does|can) THE X (?:AUX )*(?:put|placed|taken|brought|thrown|go)",
        ),
        _any("PREPARE .*X|X (?:AUX )*PREPARE"),
    ),
)
GRID = (
    Form(
        "what danger zone",
        frozenset(ROOMS),
        (_DANGER, rf"{_ASKS}|{_any('(?:is|are) (?:there|any|anything)|do(?:es)? any|is it .. STEP')}"),
        (_HOW_ELSE, _any("^(?!.*\\b(?:tiles?|floor|zone|squares?)\\b).*X"), _any("OWNER|keys?|door|box|ball|toy|suitcase")),
        r"(?:(?:danger|dangerous|deadly|lethal|unsafe|zones?|colour|tiles?|floor|the|of|please|pls)\b ?)+",
    ),
    Form(
        "what none key",
        frozenset({"door", *ROOMS}),
        (
            _any("keys?|(?:un)?lock(?:s|ed)?|open(?:s|ed)?|through|past|get in|enter"),
            _any("keys?|door|lock|unlock|this|(?:open|through|past) THE X"),
            _any("what|which|how|tell|name|(?:right|correct|proper|matching) (?:\\w+ )?key|know|identify|say|colour|or"),
        ),
        (
            _any("how(?! .. (?:get in|enter|know|tell|identify|see|open|opens|opened|unlock|unlocked|through|past)\\b)"),
            _any("WHOEVER lock|where|behind|wh(?:at|ich) doors?|open (?:or|yet|already)|what (?:is|are) an?|(?!best)\\w+est$"),
            _any("OWNER|toy|suitcase|box|ball|room|RISKY"),
        ),
        r"(?=.*\bkey)(?:(?:key|door|lock|locked|the|right|correct|to|for|of|this|my|please|pls)\b ?)+",
    ),
    _WHERE,
    Form(
        "what OWNER suitcase",
        frozenset(),
        (OWNER, _any("suitcase|box(?:es)?"), _ASKS),
        (_HOW_ELSE, _any("where|toy|plays?|packed|pack|lost|lose")),
        rf"(?=.*\bsuitcase)(?:(?:{OWNER}|suitcase|the|of|which|box|please|pls)\b ?)+",
    ),
    Form(
        "what OWNER toy",
        frozenset(),
        (OWNER, _TOY, _ASKS),
        (
            _HOW_ELSE,
            _any("where|suitcase|likes? about|do with|OWNER (?:brother|sister|mother|father|friend|dog|cat)|is OWNER like|does OWNER (?:do|play)$"),
            _any("^(?!.*\\btoy\\b).*looks? like|OWNER (?:\\w+ )?(?:likes?|loves?) to (?!play|have|hold|own)\\w+"),
            # Which film he likes; the favourite room.
            _any("favourite (?!(?:toy|object|thing|item|one|ball|box|key|is|of|to|called|PLAIN)\\b)\\w+"),
            _any(
                "(?:what|which) (?!(?:toy|object|thing|item|one|kind|sort|type|ball|box|key|colour(?= .*(?:toy|ball))|particular|PLAIN|OWNER"
                "|favourite|makes)\\b)\\w+"
            ),
        ),
        rf"(?:(?:{OWNER}|toy|favourite|the|of|best|beloved|preferred|please|pls|loved)\b ?)+",
    ),
)
_HOW_BARS = (
    _any("where(?! PREPARE)|whereabouts|find|locat\\w+|looking|(?:get|reach|go) (?:to )?THE X(?! ready)"),
    _any("START (?:please )?(?:can|could|will|would) (?:you|someone|somebody) (?:please )?PREPARE"),
    _any("(?:cook|make|bake|prepare) (?:\\w+ )?(?:with|from|out of|using)|use|with what|tool|goe?s? (?:well )?with|container|room"),
    _any(
        "(?:what|which) (?:time|temperature|wine|drink|sauce|dish|meal|day|knife|tool|colour|brand|oven|pan|food|spices?)"
    ),
)
KITCHEN = (
    Form(
        "how NAME",
        FOOD,
        (
            X,
            _any("PREPARE"),
            _any(
                "how|what|which|should|must|shall|ought|or|supposed|meant|necessary|needs?|(?:do|am) (?:i|we)|(?:have|has|is|are) to"
                "|to be|you want|would you like|way|method|describe|explain|tell|teach|through|recipe|instructions"
            ),
        ),
        _HOW_BARS,
    ),
    Form(
        "how NAME",
        FOOD,
        (
            X,
            _any("how|what|which"),
            _any(
                "(?:do|doing) (?:\\w+ )?(?:with|to|about|THE X)|done|wants?|liked?|says?|needs?|needed|have|has|goe?s?"
                "|happen|serve|served|ready|made|make|be|requires?|required|work|expected|plan|undergo"
            ),
        ),
        _HOW_BARS,
        r"(?=.*\b(?:how|recipe|preparation|instructions|cooking)\b)"
        rf"(?:(?:how|preparation|recipe|instructions|cooking|please|pls|the|a|do|with|of|and|about|for|then|{X})\b ?)+",
    ),
    _WHERE,
)
