"""The expert: asks exactly Q_t, then does what is left in as few steps as possible.

It plans on the host, with the whole level before it, by A* over poses (position and direction), what is
carried, and which doors are open. It does not act on what it could not know: everything that can be asked at
once is asked at once, the key question next to a locked door, and no key is taken before it is answered.
"""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

import jax
import numpy as np

from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import GOALS, Goal
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import VOCABULARY, WHERE
from afk.knowledge.facts import ANY, UNUSED

# What is still to be done: ask which key fits, take it, open a lock, reach the target.
_ASK, _TAKE, _OPEN, _REACH, _DONE = range(5)
_ASK_MARK = -1  # stands for the questions asked next to the lock in a path of physical actions
_KEY_NOUN = VOCABULARY.nouns.index("key")


class _Node(NamedTuple):
    pose: int  # cell * 4 + direction
    phase: int
    opened: frozenset[int]  # the cells of doors that have been opened


def plan(state: State) -> list[np.ndarray]:
    """The actions, each (5,) int32, that solve a level from its first state; a ValueError if none do."""
    actions = find_plan(state)
    if actions is None:
        raise ValueError("this level has no solution")
    return actions


def find_plan(state: State) -> list[np.ndarray] | None:
    """The same, or None if the level has no solution."""
    return _Level(jax.device_get(state)).plan()


def count_steps(state: State) -> int | None:
    """The fewest physical steps that solve a level for who knows all and asks nothing; None if none do."""
    path = _Level(jax.device_get(state)).find_path(_TAKE)
    return None if path is None else len(path)


@dataclass
class _Level:
    """A level as the solver sees it; cells are numbered row by row."""

    state: State

    @cached_property
    def width(self) -> int:
        return self.state.grid.shape[1]

    @cached_property
    def codes(self) -> list[int]:
        return [int(code) for code in np.asarray(self.state.grid).ravel()]

    @cached_property
    def steps(self) -> list[int]:
        """How far the cell in front is, by direction."""
        return [int(y) * self.width + int(x) for x, y in cells.DIRECTIONS]

    @cached_property
    def walkable(self) -> list[bool]:
        """Where the agent can go once all doors are open, without moving anything and without danger."""
        kinds = (cells.EMPTY_KIND, cells.TILE, cells.SQUARE, cells.KEY)
        kinds += (cells.BOX,) if self.state.level.boxes_passable else ()
        doors = (cells.OPEN_DOOR, cells.CLOSED_DOOR, cells.LOCKED_DOOR)
        danger = cells.TILE * 8 + int(self.state.level.danger)
        return [code != danger and code >> 3 in (*kinds, *doors) for code in self.codes]

    @cached_property
    def shut(self) -> set[int]:
        return {
            cell
            for cell, code in enumerate(self.codes)
            if code >> 3 in (cells.CLOSED_DOOR, cells.LOCKED_DOOR)
        }

    @cached_property
    def locked(self) -> set[int]:
        return {cell for cell, code in enumerate(self.codes) if code >> 3 == cells.LOCKED_DOOR}

    @cached_property
    def goal(self) -> Goal:
        """What counts as success."""
        return GOALS[int(self.state.level.goal)]

    @cached_property
    def key_cells(self) -> set[int]:
        return self._find(cells.KEY * 8 + int(self.state.level.key_colour))

    @cached_property
    def target_cells(self) -> set[int]:
        return self._find(int(self.state.level.target))

    def _find(self, wanted: int) -> set[int]:
        return {cell for cell, code in enumerate(self.codes) if code == wanted}

    def plan(self) -> list[np.ndarray] | None:
        """Questions that can be asked at once, then the path with the others where they belong.

        A lock that cannot be reached cannot be asked about, and need not be opened either.
        """
        at_once, at_the_lock = self._questions()
        path = self.find_path(_ASK if at_the_lock else _TAKE)
        path = self.find_path(_TAKE) if path is None else path
        if path is None:
            return None
        actions = [_query(question) for question in at_once]
        for action in path:
            if action == _ASK_MARK:
                actions += [_query(question) for question in at_the_lock]
            else:
                actions.append(np.array([0, action, 0, 0, 0], np.int32))
        return actions

    def find_path(self, phase: int) -> list[int] | None:
        """The shortest path from the first state, begun at a phase."""
        x, y = (int(each) for each in self.state.position)
        return self._search(_Node((y * self.width + x) * 4 + int(self.state.direction), phase, frozenset()))

    def _questions(self) -> tuple[list[list[int]], list[list[int]]]:
        """Q_t in the order of asking: what is asked at once, and what is asked next to the lock."""
        rows = [[int(word) for word in row] for row in self.state.level.good_queries if row[0] != UNUSED]
        what_key = [row for row in rows if row[1] == ANY]
        colour = cells.COLOURS[int(self.state.level.key_colour)] if what_key else "none"
        where_key = [WHERE, VOCABULARY.adjectives.index(colour), _KEY_NOUN]
        at_the_lock = what_key + [row for row in rows if row == where_key]
        return [row for row in rows if row not in at_the_lock], at_the_lock

    def _search(self, start: _Node) -> list[int] | None:
        """The shortest path of actions, by A*, or None; `_ASK_MARK` stands for questions next to the lock."""
        estimates = self._estimates()
        came_from: dict[_Node, tuple[_Node, int]] = {}
        costs = {start: 0}
        queue = [(0, 0, start)]
        while queue:
            _, negative_cost, node = heappop(queue)
            if node.phase == _DONE:
                path = []
                while node != start:
                    node, action = came_from[node]
                    path.append(action)
                return path[::-1]
            if -negative_cost > costs[node]:
                continue
            for action, following in self._successors(node):
                cost = costs[node] + 1
                left = 0 if following.phase == _DONE else estimates[following.phase].get(following.pose)
                if left is not None and cost < costs.get(following, cost + 1):
                    costs[following] = cost
                    came_from[following] = (node, action)
                    heappush(queue, (cost + left, -cost, following))
        return None

    def _successors(self, node: _Node) -> list[tuple[int, _Node]]:
        """What can be done next, and where it leads."""
        pose, phase, opened = node
        cell, direction = divmod(pose, 4)
        front = cell + self.steps[direction]
        turns = ((cells.LEFT, (direction - 1) % 4), (cells.RIGHT, (direction + 1) % 4))
        found = [(action, self._arrive(cell, turned, phase, opened)) for action, turned in turns]
        if phase == _ASK and self._is_beside_lock(cell):
            found.append((_ASK_MARK, _Node(pose, _TAKE, opened)))
        if phase == _TAKE and front in self.key_cells:
            found.append((cells.PICK_UP, _Node(pose, _OPEN, opened)))
        if front in self.shut and front not in opened:
            if front not in self.locked or phase >= _OPEN:
                found.append((cells.TOGGLE, self._open(node, front)))
        elif self.walkable[front]:
            found.append((cells.FORWARD, self._arrive(front, direction, phase, opened)))
        spot = {"on": cell, "facing": front}.get(self.goal.place)
        goal = self.goal
        if phase >= _TAKE and goal.action is not None and spot in self.target_cells:
            found.append((goal.action, _Node(pose, _DONE, opened)))
        return found

    def _open(self, node: _Node, door: int) -> _Node:
        """Where opening a door leads."""
        phase = node.phase
        if door in self.locked:
            phase = _DONE if self.goal.place == "lock" else _REACH
        return _Node(node.pose, phase, node.opened | {door})

    def _arrive(self, cell: int, direction: int, phase: int, opened: frozenset[int]) -> _Node:
        """The node of a pose; being there may be success already."""
        spots = {"on": cell, "facing": cell + self.steps[direction]}
        waits = phase >= _TAKE and self.goal.action is None
        arrived = waits and spots.get(self.goal.place) in self.target_cells
        return _Node(cell * 4 + direction, _DONE if arrived else phase, opened)

    def _is_beside_lock(self, cell: int) -> bool:
        return any(cell + step in self.locked for step in self.steps)

    def _estimates(self) -> dict[int, dict[int, int]]:
        """For each phase, the steps left from each pose if all doors that are not locked stood open.

        The target may lie before the locks as well: then nothing has to be taken or opened.
        """
        goal = self.goal
        at_locks = [pose for door in self.locked for pose in self._facing(door)]
        if goal.place == "lock":
            ends: dict[int, int] = {}
            estimates = {_REACH: dict.fromkeys(at_locks, 0)}
        else:
            place = _poses if goal.place == "on" else self._facing
            poses = [pose for cell in self.target_cells for pose in place(cell)]
            ends = dict.fromkeys(poses, int(goal.action is not None))
            estimates = {_REACH: self._distances(ends, through_locks=True)}
        beside = {door - step for door in self.locked for step in self.steps if self.walkable[door - step]}
        places = (
            (_OPEN, _REACH, at_locks, ends),
            (_TAKE, _OPEN, [pose for cell in self.key_cells for pose in self._facing(cell)], ends),
            (_ASK, _TAKE, [pose for cell in beside for pose in _poses(cell)], {}),
        )
        for this, following, poses, direct in places:
            after = estimates[following]
            onward = {pose: 1 + after[pose] for pose in poses if pose in after}
            estimates[this] = self._distances(onward | direct)
        return estimates

    def _facing(self, cell: int) -> list[int]:
        """The poses that look at a cell from next to it."""
        places = [(cell - step, direction) for direction, step in enumerate(self.steps)]
        return [place * 4 + direction for place, direction in places if self.walkable[place]]

    def _distances(self, ends: dict[int, int], *, through_locks: bool = False) -> dict[int, int]:
        """Steps from every pose to the nearest end, plus what that end costs, by search backwards."""
        distances: dict[int, int] = {}
        queue = sorted((cost, pose) for pose, cost in ends.items())
        while queue:
            cost, pose = heappop(queue)
            if pose in distances:
                continue
            distances[pose] = cost
            cell, direction = divmod(pose, 4)
            heappush(queue, (cost + 1, cell * 4 + (direction + 1) % 4))
            heappush(queue, (cost + 1, cell * 4 + (direction - 1) % 4))
            behind = cell - self.steps[direction]
            if self.walkable[behind] and (through_locks or cell not in self.locked):
                heappush(queue, (cost + 1, behind * 4 + direction))
        return distances


def _poses(cell: int) -> list[int]:
    """The poses in a cell."""
    return [cell * 4 + direction for direction in range(4)]


def _query(question: list[int]) -> np.ndarray:
    """The action that asks a question; where any adjective will do, it says none."""
    return np.array([1, 0, *(max(word, 0) for word in question)], np.int32)
