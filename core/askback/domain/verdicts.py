"""The options that mean "yes" or "no" by their labels, in every language of askback.

A label counts as a whole, or by its first word if punctuation follows it: "No, hold", "No-Go", "Yes – deploy". A label
that negates another one is a "no": "Deploy" and "Don't deploy".
"""

from __future__ import annotations

__all__ = ["can_approve", "find_no", "find_yes"]

import re
from collections.abc import Collection, Sequence
from typing import Final

from askback.domain.negations import list_negated
from askback.text.unseen import normalize_look

_LATIN: Final = 0x2FFF
"""The last character before those of Chinese and Japanese."""


def _split(*lines: str) -> tuple[str, ...]:
    return tuple(" ".join(lines).split())


_YES: Final = frozenset(
    _split(
        "yes yep yeah ok okay approve allow accept agree confirm",
        "ja jawohl genehmigen zustimmen bestätigen annehmen akzeptieren erlauben zulassen freigeben einverstanden",
        "sí si aprobar aceptar permitir confirmar autorizar",
        "oui approuver accepter autoriser confirmer valider permettre d'accord",
        "はい ええ 承認 承認する 許可 許可する 同意 同意する 了承 了承する 賛成 オーケー",
        "是 是的 好 好的 可以 同意 批准 允许 确认 接受 赞成 许可",
    )
)
_NO: Final = frozenset(
    _split(
        "no nope nah deny reject refuse decline veto abort disagree disapprove disallow no-go",
        "nein nee nö ablehnen verweigern verbieten zurückweisen",
        "rechazar denegar negar rehusar",
        "non refuser rejeter interdire",
        "いいえ いや ノー 拒否 拒否する 却下 却下する 否認 否認する 断る 反対 不可 だめ ダメ 許可しない 承認しない",
        "否 不 不是 不行 不可以 不要 不用 不同意 不批准 不允许 拒绝 驳回 否决 反对",
    )
)
_STOP: Final = frozenset(
    _split(
        "cancel stop hold halt",
        "abbrechen abbruch stoppen stopp anhalten",
        "cancelar detener parar abortar",
        "annuler arrêter stopper abandonner",
        "キャンセル 中止 中止する 停止 停止する 中断 中断する 取り消し 取り消す ストップ やめる 止める",
        "取消 停止 中止 终止 中断 暂停 停",
    )
)
"""Words that are a "no" only next to one option of another kind, as in "Deploy" and "Cancel". "Start", "Stop" and
"Restart" are three things to do."""
_STOP_UNSPACED: Final = tuple(word for word in _STOP if not word[0].isascii() and ord(word[0]) > _LATIN)
"""Those in languages that put no spaces between words."""
_POSTPONING: Final = (
    *_split("not later wait hold none neither never postpone defer don't dont no maybe perhaps unsure undecided"),
    *_split("nicht noch später warten warte halt kein keine keiner keines nichts nein vielleicht unsicher"),
    *_split("luego después esperar espera ninguno ninguna ningún todavía aún más nunca quizá quizás"),
    *_split("pas plus attendre attends attendez aucun aucune ne non jamais peut-être"),
    *("do not", "tal vez"),
)
"""Words with which a label begins that is never a "yes" only because it is the one option next to a "no"."""
_POSTPONING_UNSPACED: Final = _split(
    "後で あとで 後ほど まだ 待つ 待って 待機 保留 延期 なし どちらでも どれでも いいえ",
    "たぶん 多分 わからない 分からない",
    "稍后 以后 之后 晚点 等待 等等 等一下 稍等 再等 暂不 暂缓 推迟 没有 都不 还没 尚未 未 不 否 也许 或许",
    "n'",
)
"""Such beginnings that no space follows: in Japanese and Chinese, and a French “not” before a vowel."""
_AROUND: Final = re.compile(r"^[\W_]+|[\W_]+$")
_FIRST: Final = re.compile(r"(\w+(?:'\w+)*)\s*[^\w\s'](?!\w)")
"""A first word with punctuation after it, but not a part of a word such as "No-code"."""


def find_no(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options that mean "no"."""
    stopping = [option for option in options if _is_called(option, _STOP)] if len(options) == 2 else []
    weak = stopping if len(stopping) == 1 else []
    return tuple(
        option for option in options if _is_called(option, _NO) or option in weak or _is_negating(option, options)
    )


def find_yes(options: Sequence[str], refusing: Collection[str]) -> tuple[str, ...]:
    """Return the options that mean "yes": the only one next to those that refuse, or those that are called so."""
    others = tuple(option for option in options if option not in refusing)
    if refusing and len(others) == 1 and can_approve(others[0], refusing):
        return others
    return tuple(option for option in others if _is_called(option, _YES))


def can_approve(option: str, refusing: Collection[str]) -> bool:
    """Return True if an option next to those that refuse can be taken for a "yes" although its label is none.

    One that puts everything off cannot. Nor can "Stop it" next to "Don't stop it": each may be what was asked for.
    """
    if _is_postponing(option):
        return False
    plain = _normalize(option)
    negated = any(plain in list_negated(_normalize(one)) for one in refusing)
    return not (negated and _names_stop(plain))


def _is_negating(option: str, options: Sequence[str]) -> bool:
    """Return True if a label negates another one, the beginning of another one, or a word that means "yes"."""
    others = [_normalize(other) for other in options if other != option]
    return any(
        not _is_called(negated, _NO | _STOP)
        and (_is_called(negated, _YES) or any(_begins(other, negated) for other in others))
        for negated in list_negated(_normalize(option))
    )


def _begins(label: str, words: str) -> bool:
    """Return True if a label begins with these words. Between Chinese or Japanese characters, words have no borders."""
    rest = label[len(words) :]
    return label.startswith(words) and (not rest or not rest[0].isalnum() or not words[-1].isascii())


def _names_stop(plain: str) -> bool:
    """Return True if a label has a word for stopping, or begins with one."""
    return any(word in _STOP for word in re.findall(r"\w+", plain)) or plain.startswith(_STOP_UNSPACED)


def _is_postponing(option: str) -> bool:
    """Return True if an option begins with a word such as later, wait, none or maybe, or negates something."""
    plain = _normalize(option)
    if plain.startswith(_POSTPONING_UNSPACED):
        return True
    return bool(list_negated(plain)) or any(re.match(rf"{re.escape(word)}(?![\w'])", plain) for word in _POSTPONING)


def _is_called(option: str, words: Collection[str]) -> bool:
    plain = _normalize(option)
    first = _FIRST.match(plain)
    return plain in words or (first is not None and first[1] in words)


def _normalize(option: str) -> str:
    """Return a label in lower case, without the punctuation and the emoji around it."""
    plain = " ".join(normalize_look(option).casefold().replace("’", "'").split())
    return _AROUND.sub("", plain)
