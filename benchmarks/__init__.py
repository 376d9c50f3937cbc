"""Benchmarks: does skci cover, is it right, how fast is it, and how far does it go?

Run from the checkout, each with ``--help`` for its options::

    python -m benchmarks.coverage    coverage of individual and joint intervals
    python -m benchmarks.paper       the simulation studies of Yuan and Jiang
    python -m benchmarks.accuracy    oracles, and errors of other packages
    python -m benchmarks.speed       time beside other packages
    python -m benchmarks.scale       many models, many rows, many parameters
    python -m benchmarks.published   published leaderboards

The text of a page is written by hand, in ``docs/benchmarks``; a command draws its
tables again, by the titles of its sections.
"""
