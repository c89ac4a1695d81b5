"""Replay a proof file of `landing verify`: python3 check_proof.py FILE.proof.jsonl

The program shares no code with landing and needs the standard library alone. It reads the formulas of h and g, each
sample x, the numbers P and the radii rho, and shows again, with integers, that there is exactly one lambda with
|lambda_i| < rho_i and F(x + P lambda) = 0, that every wall of g is at most 0 there, and that the point is within delta.

Numbers are intervals [a, b] of integers in units of 2**-S, rounded outwards. Elementary functions are Taylor
polynomials with Lagrange's remainder. Nothing depends on floating point.
"""
import json, math, sys

S = 256            # bits behind the point
ONE = 1 << S
SMALL = ONE >> 8   # Taylor polynomials are of arguments up to 2**-8
class Undefined(Exception):
    """A function has no value on the interval, or this program does not know it."""
def number(text):
    """The interval of a hexadecimal float: it is exact unless it has bits below 2**-S."""
    n, d = float.fromhex(text).as_integer_ratio()
    return (n << S) // d, -((-n << S) // d)
def add(a, b):
    return a[0] + b[0], a[1] + b[1]
def neg(a):
    return -a[1], -a[0]
def sub(a, b):
    return a[0] - b[1], a[1] - b[0]
def mul(a, b):
    p = [x * y for x in a for y in b]
    return min(p) >> S, -(-max(p) >> S)
def square(a):
    low = 0 if a[0] <= 0 <= a[1] else min(a[0] * a[0], a[1] * a[1])
    return low >> S, -(-max(a[0] * a[0], a[1] * a[1]) >> S)
def div(a, b):
    if b[0] <= 0 <= b[1]:
        raise Undefined("a division by an interval that has 0")
    q = [((x << S) // y, -((-x << S) // y)) for x in a for y in b]
    return min(v[0] for v in q), max(v[1] for v in q)
def size(a):
    return max(-a[0], a[1])
def whole(n):
    return n << S, n << S
def half(a):
    return a[0] >> 1, -(-a[1] >> 1)
def inverse(a):
    return div(whole(1), a)

def sqrt(a):
    if a[0] < 0:
        raise Undefined("the root of an interval below 0")
    return math.isqrt(a[0] << S), math.isqrt(a[1] << S) + 1

def taylor(x, terms):
    """Sum terms[i] x**i of |x| <= 2**-8; what is left of coefficients up to 1 is at most 2 (2**-8)**n."""
    total, rest = (0, 0), (2 * ONE) >> (8 * len(terms))
    assert size(x) <= SMALL
    for c in reversed(terms):
        total = add(mul(total, x), c)
    return total[0] - rest, total[1] + rest

TERMS = S // 8
FACTORIALS = [div(whole(1), whole(math.factorial(i))) for i in range(TERMS)]
LOG = [(0, 0)] + [div(whole(1 if i % 2 else -1), whole(i)) for i in range(1, TERMS)]
ATAN = [div(whole(1 if i % 4 == 1 else -1), whole(i)) if i % 2 else (0, 0) for i in range(TERMS)]

def exp(a):
    """e**a at both ends, by e**(a/2**k) and k squarings."""
    def at(v):
        k = max(0, abs(v).bit_length() - SMALL.bit_length() + 1)
        if k > 20: # a number above a thousand
            raise Undefined("the exponential of a large number")
        y = taylor((v >> k, -(-v >> k)), FACTORIALS)
        for _ in range(k):
            y = square(y)
        return y
    return at(a[0])[0], at(a[1])[1]

def log(a):
    """ln a at both ends: y + ln(1 + t) of a guess y, with 1 + t = x e**-y."""
    def at(v):
        if v <= 0:
            raise Undefined("the logarithm of a number that may be 0")
        y = number((math.log(v) - S * math.log(2)).hex())
        t = sub(mul((v, v), exp(neg(y))), whole(1))
        return add(y, taylor(t, LOG))
    return at(a[0])[0], at(a[1])[1]

def turn(r):
    """sin and cos of a number, by halving it k times."""
    k = max(0, size(r).bit_length() - SMALL.bit_length() + 1)
    r = (r[0] >> k, -(-r[1] >> k))
    terms = [neg(t) if i % 4 > 1 else t for i, t in enumerate(FACTORIALS)]
    s = taylor(r, [t if i % 2 else (0, 0) for i, t in enumerate(terms)])
    c = taylor(r, [(0, 0) if i % 2 else t for i, t in enumerate(terms)])
    for _ in range(k):
        s, c = mul(whole(2), mul(s, c)), sub(square(c), square(s))
    return s, c

# pi = y + asin(sin y) of the float y below it, and t <= asin t <= t + t**3 of a small t > 0
T = turn(number(math.pi.hex()))[0]
PI = add(number(math.pi.hex()), (T[0], add(T, mul(T, square(T)))[1]))

def sincos(a):
    """sin and cos at the middle, widened by half of the width."""
    m, w = (a[0] + a[1]) // 2, (a[1] - a[0]) // 2 + 1
    r = sub((m, m), mul(whole(2 * (m // (2 * PI[0]))), PI))
    return [(max(v[0] - w, -ONE), min(v[1] + w, ONE)) for v in turn(r)]

def atan2(y, x):
    """The angle of (x, y): turned back by a guess it is (p, q) with q/p small."""
    g = number(math.atan2(sum(y) / ONE, sum(x) / ONE).hex())
    s, c = sincos(g)
    p, q = add(mul(x, c), mul(y, s)), sub(mul(y, c), mul(x, s))
    if p[0] <= 0:
        raise Undefined("the angle of a vector that may be 0")
    t = div(q, p)
    a = add(g, (min(t[0], 0), max(t[1], 0)))
    if size(t) <= SMALL:
        a = add(g, taylor(t, ATAN))
    if a[0] <= -PI[0] or a[1] >= PI[0]:
        raise Undefined("an angle that may be pi")
    return a

def ends(f):
    """A function that grows, of an interval."""
    return lambda a: (f((a[0], a[0]))[0], f((a[1], a[1]))[1])

def across(a):
    return sqrt(mul(sub(whole(1), a), add(whole(1), a)))
def side(a): # of 0, for |a| and max
    return (ONE, ONE) if a[0] > 0 else (-ONE, -ONE) if a[1] < 0 else (-ONE, ONE)

logistic = ends(lambda a: inverse(add(whole(1), exp(neg(a)))))
tanh = ends(lambda a: sub(whole(1), div(whole(2), add(exp(add(a, a)), whole(1)))))
softplus = ends(lambda a: add((max(a[0], 0),) * 2, log(add(whole(1), exp((-abs(a[0]),) * 2)))))
asin = ends(lambda a: atan2(a, across(a)))
sinh = ends(lambda a: half(sub(exp(a), exp(neg(a)))))
def cosh(a):
    return half(add(exp(a), exp(neg(a))))
def absolute(a):
    return 0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1])), size(a)

# Functions of two numbers: the value, and the derivatives by both.
def power(a, b):
    v = exp(mul(b, log(a)))
    return v, mul(b, div(v, a)), mul(v, log(a))
def larger(a, b):
    s = half(add(whole(1), side(sub(a, b))))
    return (max(a[0], b[0]), max(a[1], b[1])), s, sub(whole(1), s)
def smaller(a, b):
    v, da, db = larger(neg(a), neg(b))
    return neg(v), da, db
def angle(a, b):
    r = add(square(a), square(b))
    return atan2(a, b), div(b, r), neg(div(a, r))
def decided(yes, no, value):
    if not yes and not no:
        raise Undefined("a condition that may be either")
    return value if yes else (0, 0)
def above(a, b):
    return decided(a[0] > b[1], a[1] <= b[0], whole(1)), (0, 0), (0, 0)
def where(a, b):
    return decided(a[0] >= 0, a[1] < 0, b), (0, 0), decided(a[0] >= 0, a[1] < 0, whole(1))
def quotient(a, b):
    v = div(a, b)
    return v, inverse(b), neg(div(v, b))
BINARY = {
    "+": lambda a, b: (add(a, b), whole(1), whole(1)), "*": lambda a, b: (mul(a, b), b, a), "/": quotient,
    "-": lambda a, b: (sub(a, b), whole(1), whole(-1)), "^": power, "atan2": angle, "max": larger, "min": smaller,
    ">": above, "where": where,
}
# Functions of one number, and their derivatives by the number and the value.
UNARY = {
    "-": (neg, lambda a, v: whole(-1)), "abs": (absolute, lambda a, v: side(a)),
    "sqrt": (sqrt, lambda a, v: half(inverse(v))), "exp": (exp, lambda a, v: v), "log": (log, lambda a, v: inverse(a)),
    "sin": (lambda a: sincos(a)[0], lambda a, v: sincos(a)[1]),
    "cos": (lambda a: sincos(a)[1], lambda a, v: neg(sincos(a)[0])),
    "tan": (lambda a: div(*sincos(a)), lambda a, v: add(whole(1), square(v))),
    "asin": (asin, lambda a, v: inverse(across(a))),
    "acos": (lambda a: sub(half(PI), asin(a)), lambda a, v: neg(inverse(across(a)))),
    "atan": (lambda a: atan2(a, whole(1)), lambda a, v: inverse(add(whole(1), square(a)))),
    "sinh": (sinh, lambda a, v: cosh(a)), "cosh": (cosh, lambda a, v: sinh(a)),
    "tanh": (tanh, lambda a, v: sub(whole(1), square(v))),
    "softplus": (softplus, lambda a, v: logistic(a)), "logistic": (logistic, lambda a, v: mul(v, sub(whole(1), v))),
}
class Formulas:
    """The operations of h and g, one after the other."""

    def __init__(self, head):
        self.operations, self.lines = head["operations"], head["lines"]
        self.constant = [number(o[1][0]) if o[0] == "constant" else None for o in self.operations]

    def evaluate(self, x):
        """Enclose every operation over the box x, and the derivatives by its operands."""
        self.value, self.slopes = [], []
        for o, v in zip(self.operations, self.constant):
            slopes = ()
            if o[0] == "x":
                v = x[o[1]]
            elif v is None and o[0] == "*" and o[1] == o[2]:
                v, slopes = square(self.value[o[1]]), [self.value[o[1]]] * 2
            elif v is None and len(o) == 3:
                v, *slopes = BINARY[o[0]](self.value[o[1]], self.value[o[2]])
            elif v is None:
                function, slope = UNARY[o[0]]
                v = function(self.value[o[1]])
                slopes = [slope(self.value[o[1]], v)]
            self.value.append(v)
            self.slopes.append(slopes)
        return [self.value[i] for i in self.lines]

    def gradient(self, k):
        """Enclose the derivatives of formula k over the box: a sweep from its operation down."""
        adjoint, out = {self.lines[k]: whole(1)}, {}
        for i in range(self.lines[k], -1, -1):
            a = adjoint.pop(i, None)
            if a is None or self.operations[i][0] == "constant":
                continue
            if self.operations[i][0] == "x":
                out[self.operations[i][1]] = a
            for to, slope in zip(self.operations[i][1:], self.slopes[i]):
                adjoint[to] = add(adjoint.get(to, (0, 0)), mul(a, slope))
        return out

def check(head, formulas, line):
    """Return why the proof of a sample is none, or None."""
    names, m, walls = head["names"], head["equalities"], head["equalities"] + head["inequalities"]
    x = [number(v) for v in line["x"]]
    box, done, moved, blocks = list(x), set(), set(head["held"]), []
    if len(x) != head["dim"] or head["not_covered"]:
        return "the proof does not cover the set"
    for b in line.get("blocks", []):
        n, columns = len(b["rows"]), b["columns"]
        inverse_ = [number(v) for v in b["inverse"]]
        radius, target = [number(v)[1] for v in b["radius"]], [number(v) for v in b["target"]]
        p = {j: inverse_[c * n:(c + 1) * n] for c, j in enumerate(columns)}
        if any(len(row) != n for row in [radius, target, *p.values()]):
            return "a block has lists of different lengths"
        for j in columns:
            if j in moved:
                return f"coordinate {j} does not move, or is in two blocks"
            moved.add(j)
            r = sum(mul((-r, r), q)[1] for q, r in zip(p[j], radius))
            box[j] = (x[j][0] - r, x[j][1] + r)
        for k, t in zip(b["rows"], target):
            if (k < m and t != (0, 0)) or (m <= k < walls and t[1] > 0) or not 0 <= k < walls or k in done:
                return "a target is not what Sigma asks, or a formula is there twice"
            done.add(k)
        blocks.append((b["rows"], p, radius, target))
    at_sample, over, distance = formulas.evaluate(x), formulas.evaluate(box), 0
    for rows, p, radius, target in blocks:
        image = []
        for i, k in enumerate(rows):
            gradient = {j: g for j, g in formulas.gradient(k).items() if j not in head["held"]}
            if any(j not in p for j in gradient):
                return f"{names[k]} depends on coordinates of another block"
            total = size(sub(at_sample[k], target[i]))
            for l, r in enumerate(radius):
                e = whole(-1 if l == i else 0)
                for j, g in gradient.items():
                    e = add(e, mul(g, p[j][l]))
                total += mul((0, size(e)), (0, r))[1]
            if not total < radius[i]:
                return f"T does not map the box into itself: {names[k]}"
            image.append(total)
        distance += sum(sum(mul((-v, v), q)[1] for q, v in zip(row, image)) ** 2 for row in p.values())
    if distance > number(float(line["delta"]).hex())[1] ** 2 or line["delta"] > head.get("within", line["delta"]):
        return "the point may be further away than delta, or delta is above the largest distance"
    for k, name in enumerate(names):
        same = any(formulas.lines[k] == formulas.lines[i] for i in done if i < m)
        if k < m and k not in done and not same and over[k] != (0, 0):
            return f"the equation {name} is missing"
        if k >= m and k not in done and not (over[k][1] < 0 or over[k][1] == 0 and k < walls):
            return f"{name} may be above 0"
    return None

def main(path):
    with open(path, encoding="utf-8") as file:
        head = json.loads(next(file))
        if head.get("format") != "landing-proof-1":
            sys.exit(f"{path}: expected the format landing-proof-1")
        formulas, hold, fail, none = Formulas(head), 0, 0, 0
        for line in map(json.loads, file):
            if "sample" not in line:
                break
            if not line["proved"]:
                none += 1
                continue
            try:
                why = check(head, formulas, line)
            except (Undefined, KeyError) as e:
                why = str(e)
            hold, fail = hold + (why is None), fail + (why is not None)
            if why is not None:
                print(f"sample {line['sample']}: {why}")
    print(f"{hold} proofs hold, {fail} do not; {none} samples have none")
    return 4 if fail or none else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else "usage: check_proof.py FILE.proof.jsonl")
