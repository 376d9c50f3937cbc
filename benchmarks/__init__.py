"""Benchmarks: does skci cover, is it right, and how fast is it?

Run from the checkout, each with ``--help`` for its options::

    python -m benchmarks.coverage   coverage of individual and joint intervals
    python -m benchmarks.paper      the simulation studies of Yuan and Jiang
    python -m benchmarks.accuracy   oracles, and errors of other packages
    python -m benchmarks.speed      time and memory beside other packages
"""
