"""What can be asked for in words: the forms of questions of each world, and what asks for something else.

The patterns are of one clause, in lower case and without marks, in which ``X0``, ``X1`` stand for what has a
name: ``blue ball``, ``kitchen``, ``lettuce``. `any_of` tells what the words in capitals stand for.
"""

import re
from dataclasses import dataclass

from afk.knowledge.question_words import FOOD, OWNER, ROOMS, X, any_of

# What no clause has that is understood. After some words only plain ones may stand: the kitchen table, where
# the red ball comes from, the frozen banana, where she bought it.
SLOTS = any_of(
    r"""
    X (?:AUX )*(?!(?:PLAIN|\w+ed)\b)\w+
    X (?:AUX )*(?:painted|produced|manufactured|purchased|cleaned|washed|used|created|invented|repaired)
    ARTICLE (?!(?:PLAIN|MILD|\w+est|\w+ed)\b)\w+ X
    where (?:\w+ )??AUX WHOEVER(?: AUX| \w+ly)* (?!(?:PLAIN|STEP|RISKY)\b)\w+
    """
)
# What is in no sentence that is understood.
ELSE = any_of(
    r"""
    # How heavy, the green one, who, why, when, how it came about, and what would happen.
    how (?!PLAIN\b)\w+|how (?!exactly|precisely|actually|really)\w+ly|(?:COLOUR|black|white|pink|other) one
    who (?!(?:else|i|here|is|the|AUX|among|of|them|you|one| )*(?:ask|help|point|TELL|HAS|X)\b)\w+
    why|when AUX|(?:tell me|know|ask) \| when|how (?:did|was|were)(?! .. (?:supposed|meant))
    what if|what (?:would )?happens?|happens? (?:if|when|to me)|what do(?:es)? .* mean
    # Somebody does not want to be told, knows it, or tells it.
    (?<!can )(?<!could )(?<!would )(?<!will )(?<!did )(?<!does )(?:not|never|stop) (?:WISH )*TELL
    not (?:WISH )*(?:WISH|care|interested|asking)(?: \|)? (?:know|hear|be told|see|where|what|which|how)
    secret|no need|never mind|rather not know|not interested|not asking|forget about|if you (?:AUX )*not TELL
    (?:START |and |but |so |yes )i (?:already |now )*(?:know|knew|remember)(?: already)? \| \w+
    (?:OWNER|he|she) (?:\w+ )?told me \| \w+|let me find|on my own|myself|(?:let me|i) (?:will |can )?TELL you
    (?:thanks|thank you) for TELL|tell me nothing|not (?:want|need) (?:your |any )?help
    tell OWNER (?:that|about|to|i|where|who|what)
    # Opinions, properties, stories.
    (?<!how )(?:do|would|did|are) you (?:like|love|prefer|enjoy|hate|fancy|eat|own)(?!.*PREPARE or)
    how (?:do|can|would|could) you know|you think (?:of|about)|your (?:own )?(?:favourite|opinion|name)
    costs?(?<!at all costs)|buy|bought|sell|sold|price|worth|weighs?|weight|size|heav\w+|big\w*|large|larger
    largest|smaller|smallest|old\w*|tast\w+|smells?|made of|made from|calories|healthy
    song|joke|story|poem|purpose|point of(?! view)
    """
)
# What asks for something to be said, and what for a place.
_ASKS = any_of(
    r"""
    what|which|how|where|whose|tell|name|describe|description|identify|remind|say|show|point|explain
    recogni[sz]e|inform|info|information|idea|clue|(?:you|to|anyone|someone|and) know|help|find|reveal
    know (?:what|which|of)|specify|state
    mention|hint|wonder|wondering|curious|guess|define|list|warn|or|colour|(?:is|are) there|is$
    """
)
_SEEKS = any_of(
    r"""
    where|whereabouts|locat(?:e|ed|ing|ion)|position|address|coordinates|seek|seeking|seen|spotted
    hold of|track down|find(?:ing)?(?! out)|(?<!i )(?:see|saw) THE X|c[ao]me across
    any (?:ideas?|clues?|hints?|trace|sign|luck)
    (?:look\w*|search\w*|hunt\w*|quest) .. THE X|after THE X
    (?:which|what|whose|name|tell me|know|say|in) (?:\w+ ){0,2}?PLACE|(?:room|place|spot) of
    (?:in|on|inside|under|of|with) (?:what|which|whom|who)|what .. X (?:\w+ )?(?:in|on|inside)(?: of)?$
    contain\w* THE X|(?:which|who|what|one) .. HAS THE X
    (?:way|route|path|directions?|point|points) .. X|X directions?|X (?:\w+ )?(?:place|room|spot)
    (?:direct|guide|lead|take|walk|bring|send|show|get|point|pointing) (?:me|us|out) .. (?:to|towards?|at)
    show me THE X|how .. (?:get|go|reach|come|navigate)
    (?:which|what) .. (?:leads?|gets?|takes?|goe?s?|reach) (?:me |us )?(?:to |into )?THE X
    (?:left|right|east|west|north|south|one) or|(?:did|do|have|has) WHOEVER PUT THE X in there
    (?:START (?:is|are|was|could|might|may|can|would)|if|whether|any chance) THE X(?: BEING)* THERE
    (?:is there|are there|any) THE X .. (?:here|nearby|anywhere|somewhere|around|close|near)
    """
)
_DANGER = any_of(
    r"""
    dangers?|RISKY|hazards?|harms?|kill\w*|avoid\w*|toxic|safely|die|dying|death|traps?|hurts?|perilous
    treacherous|careful|beware|wary|off limits|no go|(?:watch|look) out|(?:stay|keep) .. (?:away|clear|off)
    steer clear|(?:not|never) .. STEP|(?:tiles?|floor|colour) .. (?:step|walk|tread|stand) on
    """
)
_TOY = any_of(
    r"""
    toy|favourite|likes?|liked|loves?|loved|prefers?|preferred|plays?|playing|fond\w*|treasure[sd]?|cherish\w*
    adores?|favou?rs|enjoys?|dearest|prized
    """
)
_HOW_ELSE = any_of(r"how(?! .. KNOW\b)")


@dataclass(frozen=True)
class Form:
    """Something to ask for.

    Attributes:
        query: ``<func, adj, noun>``; OWNER stands for who is named, NAME for adjective and noun of what is.
        nouns: the nouns of what may be named; None if they may be any.
        signs: patterns that are all found in what asks for it; the last of them is of words that ask.
        bar: a pattern that is not found there.
        brief: the only words of what asks for it without the last sign: ``jack toy``.
    """

    query: str
    nouns: frozenset[str] | None
    signs: tuple[str, ...]
    bar: str
    brief: str = ""

    def may_be_of(self, nouns: set[str], owners: set[str]) -> bool:
        """Whether a clause that names such things, and such owners, may ask for it."""
        is_one = "OWNER" not in self.query or len(owners) == 1
        return is_one and (self.nouns is None or nouns <= self.nouns)

    def fits(self, clause: str) -> bool:
        """Whether a clause asks for it."""
        if re.search(self.bar, clause) or not all(re.search(sign, clause) for sign in self.signs[:-1]):
            return False
        others = set(re.sub(X, "", clause).split()) - set(self.brief.split())
        return re.search(self.signs[-1], clause) is not None or (bool(self.brief) and not others)


_WHERE = Form(
    "where NAME",
    None,
    (X, _SEEKS),
    any_of(
        r"""
        (?:owner|price|lid|handle|switch|door|keys?|middle|history|back|top) (?:of|to|for|on) THE X
        where (?:was|will) .* (?:yesterday|tomorrow|last (?!seen|left|put)\w+$)
        where (?:is|are) not|where did \w+ (?:find|get)
        where (?:\w+ )?(?:to|(?:MAY|am|are) (?:i|we)(?: AUX| supposed| meant)*) BRING
        where MAY THE X (?:AUX )*(?:put|placed|taken|brought|thrown|go)
        PREPARE .*X|X (?:AUX )*PREPARE
        """
    ),
)
GRID = (
    Form(
        "what danger zone",
        frozenset(ROOMS),
        (_DANGER, rf"{_ASKS}|{any_of('(?:is|are) (?:any|anything)|do(?:es)? any|START any|is it .. STEP')}"),
        rf"{_HOW_ELSE}|"
        + any_of(r"^(?!.*\b(?:tiles?|floor|zone|squares?)\b).*X|OWNER|keys?|door|box|ball|toy|suitcase"),
        "danger dangerous deadly lethal unsafe zone zones colour tile tiles floor the of please pls",
    ),
    Form(
        "what none key",
        frozenset({"door", *ROOMS}),
        (
            any_of("keys?|(?:un)?lock(?:s|ed)?|open(?:s|ed|ing)?|through|past|get in|enter"),
            any_of("keys?|door|lock|unlock|this|(?:open|through|past) THE X"),
            any_of(
                r"""
                what|which|how|tell|name|know|identify|say|colour|or
                (?:right|correct|proper|matching) (?:\w+ )?key
                """
            ),
        ),
        any_of(
            r"""
            how(?! .. OPEN\b)|WHOEVER lock|where|behind|wh(?:at|ich) doors?|open (?:or|yet|already)
            what (?:is|are) an?|(?!best)\w+est$|OWNER|toy|suitcase|box|ball|room|RISKY
            """
        ),
        "key colour door lock locked the right correct to for of this my please pls",
    ),
    _WHERE,
    Form(
        "what OWNER suitcase",
        frozenset(),
        (OWNER, any_of("suitcase|box(?:es)?"), _ASKS),
        rf"{_HOW_ELSE}|" + any_of("where|toy|plays?|packed|pack|lost|lose"),
        "jack mary suitcase the of please pls",
    ),
    Form(
        "what OWNER toy",
        frozenset(),
        (OWNER, _TOY, _ASKS),
        rf"{_HOW_ELSE}|"
        + any_of(
            r"""
            where|suitcase|likes? about|do with|OWNER (?:brother|sister|mother|father|friend|dog|cat)
            is OWNER like|^(?!.*\btoy\b).*(?:looks? like|does OWNER (?:do|play)$)
            OWNER (?:\w+ )?(?:likes?|loves?) to (?!play|have|hold|own)\w+
            favourite (?!(?:TOY|called|PLAIN)\b)\w+
            (?:what|which) (?!(?:TOY|colour(?= .*(?:toy|ball))|favourite|makes|PLAIN)\b)\w+
            """
        ),
        "jack mary toy favourite the of best beloved preferred loved please pls",
    ),
)
_HOW_BAR = any_of(
    r"""
    where(?! PREPARE)|whereabouts|find|locat\w+|looking|container|room
    (?:get|reach|go) (?:to )?THE X(?! ready)
    what did (?!you want|the recipe)\w+
    START (?:please )?(?:can|could|will|would) (?:you|someone|somebody) (?:please )?PREPARE
    (?:cook|make|bake|prepare) (?:\w+ )?(?:with|from|out of|using)|use|with what|tool|goe?s? (?:well )?with
    (?:what|which) (?:time|temperature|wine|drink|sauce|dish|meal|day|knife|colour|brand|oven|pan|food|spice)
    """
)
KITCHEN = (
    Form(
        "how NAME",
        FOOD,
        (
            X,
            any_of("PREPARE"),
            any_of(
                """
                how|what|which|should|must|shall|ought|or|supposed|meant|necessary|needs?|(?:do|am) (?:i|we)
                (?:have|has|is|are) to|to be|you want|would you like|way|method|describe|explain|tell|teach
                through|recipe|instructions
                """
            ),
        ),
        _HOW_BAR,
        "preparation recipe instructions cooking of for the a please pls",
    ),
    Form(
        "how NAME",
        FOOD,
        (
            X,
            any_of("how|what|which|anything"),
            any_of(
                r"""
                (?:do|doing) (?:\w+ )?(?:with|to|about|THE X)|done|wants?|liked?|says?|needs?|needed|have|has
                goe?s?|happen|serve|served|ready|made|make|be|requires?|required|become|work|expected
                plan|procedure|undergo
                """
            ),
        ),
        _HOW_BAR,
        "how and about then the a please pls",
    ),
    _WHERE,
)
