"""What is wrong with a regular expression, in RE2's words."""


class RegexSyntaxError(Exception):
    """The expression cannot be used. `str()` of it is the reason."""
