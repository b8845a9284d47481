"""What the paper says of the levels of its tasks (appendix A.1, tables 7 and 8)."""

from .levels import COLOURS, Expected

KEY_CLAUSE, DANGER_CLAUSE = "find the key to the door, ", "avoid danger zone, "
ANY_TWO = {"objects": 2, "kinds": ("key", "ball", "box"), "colours": COLOURS}
PAPER = {
    "object-in-box": Expected("C", 1, 1, 9, "tbs", "find NAME toy"),
    "danger": Expected("S", 1, 1, 7, "d", DANGER_CLAUSE + "go to the green square"),
    "go-to-favorite": Expected("D", 3, 3, 5, "tw", "go to NAME toy", open_doors=True, objects=3),
    "open-door": Expected("H", 1, 2, 7, "k", "find the key to the door", keys=3),
    "object-in-box+danger": Expected("CS", 1, 1, 7, "dtbs", DANGER_CLAUSE + "find NAME toy"),
    "object-in-box+go-to-favorite": Expected("CD", 3, 3, 5, "tbsx", "find NAME toy", open_doors=True),
    "object-in-box+open-door": Expected("CH", 1, 2, 7, "tbsxk", KEY_CLAUSE + "and find NAME toy", keys=2),
    "danger+go-to-favorite": Expected("SD", 1, 2, 7, "dtw", DANGER_CLAUSE + "go to NAME toy", **ANY_TWO),
    "danger+open-door": Expected(
        "SH", 1, 2, 7, "dk", DANGER_CLAUSE + KEY_CLAUSE + "go to the green square", keys=2
    ),
    "go-to-favorite+open-door": Expected(
        "DH", 3, 3, 5, "twkl", KEY_CLAUSE + "go to NAME toy", keys=2, keys_apart=True, objects=3
    ),
    "object-in-box+danger+go-to-favorite": Expected("CSD", 1, 2, 7, "dtbsx", DANGER_CLAUSE + "find NAME toy"),
    "object-in-box+danger+open-door": Expected(
        "CSH", 1, 3, 7, "dtbsxk", DANGER_CLAUSE + KEY_CLAUSE + "find NAME toy", keys=2
    ),
    "object-in-box+go-to-favorite+open-door": Expected(
        "CDH", 3, 3, 5, "tbsxk", KEY_CLAUSE + "find NAME toy", keys=2
    ),
    "danger+go-to-favorite+open-door": Expected(
        "SDH", 1, 3, 7, "dtwk", DANGER_CLAUSE + KEY_CLAUSE + "go to NAME toy", keys=2, **ANY_TWO
    ),
    "object-in-box+danger+go-to-favorite+open-door": Expected(
        "CSDH",
        *(3, 3, 7, "dtbsxkl"),
        DANGER_CLAUSE + KEY_CLAUSE + "find NAME toy",
        keys=2,
        keys_apart=True,
    ),
    "object-in-box+danger-two-rooms": Expected("CS", 1, 2, 7, "dtbsx", DANGER_CLAUSE + "find NAME toy"),
}
