"""One text between a request and the engine: read it, plan its calls, judge the results, write it again."""
