"""The notebook of section 3.1 transcribed into plain Python: text in, sets of tuples of words out."""

from dataclasses import dataclass, field

Note = tuple[str, ...]


def n_grams(note: Note, n: int) -> set[Note]:
    return {note[start : start + n] for start in range(len(note) - n + 1)}


def sim(u: Note, v: Note, n: int) -> float:
    fewest = min(len(n_grams(u, n)), len(n_grams(v, n)))
    return len(n_grams(u, n) & n_grams(v, n)) / fewest if fewest else 0.0


def clean(clause: str) -> Note:
    return tuple(word for word in clause.replace(",", " ").split() if word not in ("is", "in"))


@dataclass
class ReferenceNotebook:
    instruction: str
    n: int
    alpha: float
    capacity: int
    clauses: int = 2
    sets: dict[int, set[Note]] = field(init=False)

    def __post_init__(self) -> None:
        self.sets = {0: {clean(self.instruction)}}

    def write(self, response: str) -> bool:
        """Write a response down; whether (v_i in A_0) and (v_i not in A'_0) for any of its clauses."""
        if "i dont know" in response:
            return False
        notes = [clean(clause) for clause in response.split(",", self.clauses - 1)]
        before = self.sets[0]
        for note in notes:
            self._add(note)
        return any(note in self.sets[0] and note not in before for note in notes)

    def _add(self, note: Note) -> None:
        everything = set[Note]().union(*self.sets.values())
        if not note or note in everything or len(everything) == self.capacity:
            return
        related = [j for j, a_j in self.sets.items() if any(sim(note, v, self.n) >= self.alpha for v in a_j)]
        k = min(related) if related else max(self.sets) + 1
        a_k = {note}.union(*(self.sets[j] for j in related))
        self.sets = {j: a_j for j, a_j in self.sets.items() if j not in related} | {k: a_k}
