"""Tables of clinical terms and of the phrases around them, in English and Chinese.

Phrases are regular-expression fragments in lower case without capturing groups; a blank stands for white space. English
phrases (``_EN``) are matched as whole words, Chinese ones (``_ZH``) anywhere.
"""
