"""The labels that mean "yes" and "no" if a program names none."""

from __future__ import annotations

import pytest

from askback.domain.ask_policy import Approval
from askback.domain.form import Option
from askback.domain.verdicts import can_approve, find_no, find_yes


@pytest.mark.parametrize(
    ("options", "no", "yes"),
    [
        (["Deploy", "Cancel"], ["Cancel"], ["Deploy"]),
        (["Start", "Stop", "Restart"], [], []),
        (["Stop", "Hold"], [], []),
        (["Deploy", "Abort", "Restart"], ["Abort"], []),
        (["No-code", "Low-code"], [], []),
        (["No-Go", "Go"], ["No-Go"], ["Go"]),
        (["No, hold", "Yes – deploy"], ["No, hold"], ["Yes – deploy"]),
        (["No", "Not yet"], ["No"], []),
        (["Nein", "Ja"], ["Nein"], ["Ja"]),
        (["Staging", "Production"], [], []),
    ],
)
def test_a_label_is_a_no_or_a_yes_only_if_it_can_be_nothing_else(
    options: list[str], no: list[str], yes: list[str]
) -> None:
    refusing = find_no(options)
    assert (list(refusing), list(find_yes(options, refusing))) == (no, yes)


@pytest.mark.parametrize(
    ("no", "later"),
    [
        ("No", "Don’t decide yet"),
        ("Nein", "Noch nicht"),
        ("No", "Todavía no"),
        ("Non", "Pas maintenant"),
        ("いいえ", "後で決める"),
        ("いいえ", "まだ"),
        ("否", "稍后再说"),
        ("拒绝", "暂不批准"),
        ("Non", "N’autorisez pas encore"),
        ("No", "Maybe"),
        ("No", "Unsure – ask Bob"),
        ("Nein", "Vielleicht"),
        ("No", "Quizás"),
        ("Non", "Peut-être"),
        ("いいえ", "わからない"),
        ("否", "也许"),
    ],
)
def test_an_option_that_puts_the_decision_off_or_leaves_it_open_is_no_yes_in_any_language(no: str, later: str) -> None:
    assert find_no([no, later]) == (no,)
    assert find_yes([no, later], [no]) == ()
    assert not can_approve(later, [no])


@pytest.mark.parametrize(
    "label", ["Notify them", "Nonstop", "Deploy", "Neinstein", "Nachtbetrieb", "Lateral move", "批准", "承認"]
)
def test_a_label_that_only_begins_like_a_word_for_later_is_one_that_people_can_choose(label: str) -> None:
    assert can_approve(label, ["No"])
    assert find_yes([label, "No"], ["No"]) == (label,)


@pytest.mark.parametrize(
    ("options", "no", "yes"),
    [
        (["Deploy", "Don't deploy"], ["Don't deploy"], ["Deploy"]),
        (["Don’t deploy.", "🚀 Deploy"], ["Don’t deploy."], ["🚀 Deploy"]),
        (["Merge it", "Do not merge it"], ["Do not merge it"], ["Merge it"]),
        (["Deploy now", "Deploy to staging", "Don't deploy"], ["Don't deploy"], []),
        (["Ship it", "Don't approve"], ["Don't approve"], ["Ship it"]),
        (["Approved", "Not approved"], ["Not approved"], ["Approved"]),
        (["Deploy", "Don't deploy", "Wait"], ["Don't deploy"], []),
        (["Deployen", "Nicht deployen"], ["Nicht deployen"], ["Deployen"]),
        (["Änderung löschen", "Änderung nicht löschen"], ["Änderung nicht löschen"], ["Änderung löschen"]),
        (["Rabatt", "Kein Rabatt"], ["Kein Rabatt"], ["Rabatt"]),
        (["Desplegar", "No desplegar"], ["No desplegar"], ["Desplegar"]),
        (["Déployer", "Ne pas déployer"], ["Ne pas déployer"], ["Déployer"]),
        (["Déployez", "Ne déployez pas"], ["Ne déployez pas"], ["Déployez"]),
        (["Envoyez", "N’envoyez pas"], ["N’envoyez pas"], ["Envoyez"]),
        (["デプロイする", "デプロイしない"], ["デプロイしない"], ["デプロイする"]),
        (["デプロイ", "デプロイしない"], ["デプロイしない"], ["デプロイ"]),
        (["送る", "送らない"], ["送らない"], ["送る"]),
        (["続ける", "続けない"], ["続けない"], ["続ける"]),
        (["公開します", "公開しません"], ["公開しません"], ["公開します"]),
        (["部署", "不部署"], ["不部署"], ["部署"]),
        (["发布", "不要发布"], ["不要发布"], ["发布"]),
        (["合并", "先别合并", "别合并"], ["别合并"], []),
    ],
)
def test_an_option_that_negates_another_one_is_a_no(options: list[str], no: list[str], yes: list[str]) -> None:
    refusing = find_no(options)
    assert (list(refusing), list(find_yes(options, refusing))) == (no, yes)


@pytest.mark.parametrize(
    "options",
    [
        ["Stop", "Don't stop"],
        ["Cancel", "Do not cancel"],
        ["Reject", "Don't reject"],
        ["Stop the rollout", "Don't stop the rollout"],
        ["Rollout stoppen", "Rollout nicht stoppen"],
        ["Abbrechen", "Nicht abbrechen"],
        ["Detener", "No detener"],
        ["Arrêter", "Ne pas arrêter"],
        ["停止する", "停止しない"],
        ["止める", "止めない"],
        ["停止", "不停止"],
        ["取消订单", "不取消订单"],
    ],
)
def test_nothing_is_a_yes_where_stopping_could_be_the_yes_or_the_no(options: list[str]) -> None:
    refusing = find_no(options)
    assert len(refusing) == 1, "not all of them, and at least one: no answer may pass for a yes"
    assert find_yes(options, refusing) == ()
    approval = Approval(refusing=refusing, approving=find_yes(options, refusing))
    both = tuple(Option(value=option, label=option) for option in options)
    assert [one.label for one in both if approval.is_approving(one, both)] == []


@pytest.mark.parametrize(
    "options",
    [
        ["Tabs", "Spaces", "Don't care"],
        ["Staging", "Don't know"],
        ["Notify everyone", "Don't notify the customers"],
        ["Nothing", "Everything"],
        ["No-code", "Code"],
        ["Note", "Notebook"],
        ["少ない", "多い"],
        ["别墅", "公寓"],
    ],
)
def test_a_negation_of_something_else_is_a_choice_like_any_other(options: list[str]) -> None:
    assert (find_no(options), find_yes(options, ())) == ((), ())


@pytest.mark.parametrize(
    "option", ["デプロイしない", "公開しません", "N'envoyez pas", "Heute nicht deployen", "不部署"]
)
def test_a_negation_is_no_yes_only_because_it_is_the_one_option_next_to_a_no(option: str) -> None:
    assert find_yes(["Nein", option], ["Nein"]) == ()
