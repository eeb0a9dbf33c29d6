"""The log of the worked example for estimates from clicks, and the new ranking it is asked about."""

# The worked example: a click logged at 2 goes to rank 1; clicks logged at 1 and 4 go to ranks 3 and 2.
LOG = {
    "query": [1, 1, 2, 2, 2, 2],
    "item": ["a", "b", "a", "b", "c", "d"],
    "logged_rank": [1, 2, 1, 2, 3, 4],
    "click": [0, 1, 1, 0, 0, 1],
    "propensity": [1.0, 1 / 2, 1.0, 1 / 2, 1 / 3, 1 / 4],
    "user": ["v", "v", "w", "w", "w", "w"],
}
NEW = {"query": LOG["query"], "item": LOG["item"], "score": [1, 2, 2, 4, 1, 3]}
RR = ("reciprocal_rank_sum",)
STATED = {"n_queries": 2, "propensity_source": "assumption"}
