"""A source of knowledge of your own: it knows what is what, and nowhere where.

python examples/own_source.py
afk eval expert --task C --source parrot --import examples/own_source.py
"""

from dataclasses import dataclass

import afk
from afk.envs.asking import Asking
from afk.knowledge.catalogue import register_source
from afk.knowledge.questions import read_question
from afk.knowledge.source import Answer, Facts, KnowledgeSource, Session, SessionByQuestion


class ParrotSession(SessionByQuestion):
    """What can be asked in one episode."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def answer(self, question: str) -> Answer:
        """The fact that answers a question with *what*, if there is one."""
        asked = read_question(question, self.facts)
        for fact in self.facts.rows:
            if asked is not None and asked[0] == "what" and fact.answers(asked):
                return Answer(fact.answer, "told", (fact.row,))
        return Answer("i dont know", "unknown")


@dataclass(frozen=True)
class Parrot(KnowledgeSource):
    """The source, which is opened on the facts of each episode."""

    name: str = "parrot"

    def open(self, facts: Facts, seed: int) -> Session:
        """What can be asked in an episode."""
        return ParrotSession(facts)


register_source("parrot", Parrot, "knows what is what, and nowhere where")


def main(episodes: int = 20) -> None:
    """Let the expert ask it on Object in Box."""
    told = afk.evaluate("expert", "C", episodes=episodes, asking=Asking("parrot"))
    print(f"{told['queries']:.0f} questions, recall {told['recall']:.2f}")


if __name__ == "__main__":
    main()
