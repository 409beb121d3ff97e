"""English words that carry no subject: a query is searched without them as long as others are left."""

from __future__ import annotations

_LISTED = (
    # articles, pronouns, demonstratives, question words
    "a an the i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she "
    "her hers herself it its itself they them their theirs themselves this that these those who whom whose which what "
    "when where why how "
    # forms of be, have, do, and the modal verbs
    "am is are was were be been being have has had having do does did doing done can could may might must shall should "
    "will would cannot "
    # conjunctions and prepositions
    "and or but nor if then than because as until while of at by for with about against between into through during "
    "before after above below to from up down in out on off over under upon within without "
    # adverbs and quantities that say little
    "again further once here there all any both each few more most other some such no not only own same so too very "
    "just now also ever however "
    # what is left of contractions: don't, it's, we'll
    "s t d m o ll re ve don isn aren wasn weren hasn haven hadn doesn didn won wouldn shouldn couldn mustn needn ain "
    "im ive dont doesnt didnt cant"
)
STOP_WORDS = frozenset(_LISTED.split())
