"""Rough swing-ups of a pole on a cart, which no force makes: landing refine makes motions of them.

    python3 rough.py 2000 > rough.csv

The pole swings back, then up on one of both sides, while the cart goes to and fro: x, θ, v, ω, u of 50 steps a line.
"""

import math
import random
import sys

STEPS, T = 50, 2.0  # T in seconds


def motion(rng):
    side = rng.choice([-1, 1])
    back, late = rng.gauss(1, 0.2), rng.gauss(2, 0.25)
    along, shift, push = rng.gauss(0.5, 0.15), rng.gauss(0, 0.15), rng.gauss(0, 0.5)

    def place(s):
        return side * (along * s * math.sin(2 * math.pi * s) + shift * math.sin(math.pi * s))

    def angle(s):
        return side * (math.pi * s**late - back * math.sin(math.pi * s) ** 2 * (1 - s))

    def rate(f, s):
        a, b = max(s - 1e-6, 0), min(s + 1e-6, 1)
        return (f(b) - f(a)) / ((b - a) * T)

    for step in range(STEPS):
        s = step / (STEPS - 1)
        yield from (place(s), angle(s), rate(place, s), rate(angle, s), side * push * math.sin(2 * math.pi * s))


rng = random.Random(1)
for _ in range(int(sys.argv[1])):
    print(",".join("%.9g" % v for v in motion(rng)))
