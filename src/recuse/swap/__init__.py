"""Does the judge itself react to who a text is about, or to who is said to have written it?"""
