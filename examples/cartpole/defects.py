"""Checks swing-ups by their equations of motion alone, without landing: python3 defects.py samples.csv

It prints the worst defect of the collocation, the worst excess over the limits and at the ends, and how far
a fine integration of the forces (Runge and Kutta's fourth order, 100 steps an interval) ends from the last step.
"""

import csv
import math
import sys

M, m, l, g, STEPS, T = 1.0, 0.3, 0.5, 9.81, 50, 2.0
h = T / (STEPS - 1)


def rates(y, u):
    """The rates of (x, θ, v, ω), from Lagrange's equations: a mass matrix of two rows, solved by Cramer's rule.

    (M + m) a + m l cos θ α = F + m l ω² sin θ
    cos θ a + l α = −g sin θ
    """
    _, θ, v, ω = y
    a11, a12, b1 = M + m, m * l * math.cos(θ), 10 * u + m * l * ω * ω * math.sin(θ)
    a21, a22, b2 = math.cos(θ), l, -g * math.sin(θ)
    det = a11 * a22 - a12 * a21
    return v, ω, (b1 * a22 - a12 * b2) / det, (a11 * b2 - a21 * b1) / det


def add(y, by, f):
    return [a + by * b for a, b in zip(y, f)]


def integrated(row):
    """The last state, from the first by the forces, which change linearly within an interval."""
    y, fine = list(row[0][:4]), 100
    d = h / fine
    for k in range(STEPS - 1):
        for i in range(fine):
            u = [row[k][4] + (row[k + 1][4] - row[k][4]) * (i + s) / fine for s in (0, 0.5, 1)]
            k1 = rates(y, u[0])
            k2 = rates(add(y, d / 2, k1), u[1])
            k3 = rates(add(y, d / 2, k2), u[1])
            k4 = rates(add(y, d, k3), u[2])
            y = [a + d / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]
    return y


with open(sys.argv[1]) as f:
    lines = list(csv.reader(f))[1:]
defect = force = track = ends = 0.0
drift = []
for line in lines:
    v = [float(c) for c in line]
    row = [v[5 * k : 5 * k + 5] for k in range(STEPS)]
    for a, b in zip(row, row[1:]):
        for p, q, f, e in zip(a, b, rates(a[:4], a[4]), rates(b[:4], b[4])):
            defect = max(defect, abs(q - p - h / 2 * (f + e)))
    force = max(force, max(abs(s[4]) for s in row) - 2.5)
    track = max(track, max(abs(s[0]) for s in row) - 1.5)
    last = row[-1]
    ends = max([ends, abs(abs(last[1]) - math.pi), abs(last[0]), abs(last[2]), abs(last[3])] + [abs(c) for c in row[0][:4]])
    if len(drift) < 200:
        drift.append(max(abs(p - q) for p, q in zip(integrated(row)[:2], last)))
drift.sort()
print(f"{len(lines)} motions: worst defect {defect:.2g}, beyond the force's limit {max(force, 0):.2g} (10 N),")
print(f"beyond the track {max(track, 0):.2g} m, at the ends {ends:.2g}")
print(f"a fine integration of the forces ends {drift[len(drift) // 2]:.2g} (median) to {drift[-1]:.2g} away (m, rad)")
