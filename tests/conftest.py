"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples each time, however fast the machine is: a run says something about the code alone. New examples
# are looked for with `pytest --hypothesis-profile explore`.
settings.register_profile(
    "askback", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("askback")
