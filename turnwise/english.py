"""English number words, months and weekdays, in lower case and in order."""

NUMBER_WORDS = tuple("one two three four five six seven eight nine ten eleven twelve".split())  # the first is 1
MONTHS = tuple("january february march april may june july august september october november december".split())
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
NUMBER_WORD = "|".join(NUMBER_WORDS)

# Words for people, as alternatives of a pattern.
MEN = "son|husband|father|dad|brother|boy|boyfriend|grandfather|grandson|uncle|nephew"
WOMEN = "daughter|wife|mother|mum|mom|sister|girl|girlfriend|grandmother|granddaughter|aunt|niece"
OTHERS = "kid|child|baby|partner|friend|boss|colleague|neighbou?r|teacher|tutor|student|pupil|doctor|manager|head"


def number_of(word: str) -> int:
    """The number that digits or one of the number words stand for."""
    return int(word) if word.isdigit() else NUMBER_WORDS.index(word.lower()) + 1
