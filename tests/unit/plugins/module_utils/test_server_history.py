# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations are kept and come back byte for byte, also after a kill between any two steps and beside damage."""

from __future__ import annotations

import json
import os
import stat

import kept_host
import pytest
from fault_rows import fault
from kept_host import KEY, NAME

from ansible_collections.llmops.sglang.plugins.module_utils import _file_restore, _history_store
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._history_store import NEWEST
from ansible_collections.llmops.sglang.plugins.module_utils._server_history import places_of
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes, configuration_key

host = kept_host.host


class Killed(BaseException):
    """What a SIGKILL is to the code: nothing catches it."""


def test_what_was_there_comes_back_byte_for_byte(host):
    old = host.old()
    kept = host.history().recorded(True, "")
    host.new()
    host.put("foreign.service", "[Service]\n")
    back = host.history().restored("last_good")
    assert host.tree() == old
    assert back["changed"] and back["restored"] == kept["recorded"] == back["last_good"]
    assert back["api_key_file"] == str(host.units / f"{NAME}.secrets/config.yaml")
    assert back["base_url"] == "http://127.0.0.1:4711"
    assert (host.units / "foreign.service").exists()
    assert host.manager.reloads == 1
    again = host.history().restored("last_good")
    assert not again["changed"] and again["diff"] == []


def test_nothing_secret_leaves_the_host_and_only_the_owner_reads_it(host):
    host.old()
    host.history().recorded(True, "")
    host.new()
    told = host.history().restored("last_good")
    assert not [secret for secret in (KEY, "hf_old") if secret in json.dumps(told)]
    assert "--api-key ********" in " ".join(told["configurations"][0]["argv"])
    directory = host.state / "history" / NAME
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in directory.iterdir()} == {0o600}


def test_no_drop_in_before_means_none_after(host):
    """The unit is a vendor's; nothing of it lies in the administrator's directory."""
    host.manager.vendor = True
    found = host.history().recorded(False, "")
    assert found["changed"] and not found["configurations"][0]["proven"]
    host.put(f"{NAME}.d/zz-llmops-sglang.conf", "[Service]\nExecStart=\nExecStart=/bin/new\n")
    host.history().restored("last_good")
    assert host.tree() == {} and not (host.units / f"{NAME}.d").exists()


@pytest.mark.parametrize("way", ["forth", "back"])
def test_a_kill_between_two_steps_of_a_restore(host, monkeypatch, way):
    """Each file is the old or the new one, no secret is missing that a unit names, and the next run ends it."""
    for make in (host.old, host.new):
        make()
        host.history().recorded(True, "")
    ids = [one["id"] for one in host.history().listed()["configurations"]]
    wanted = ids[1] if way == "forth" else ids[0]
    start, end = (host.new, host.old) if way == "forth" else (host.old, host.new)
    after, steps = end(), 0
    while True:
        before = start()
        with monkeypatch.context() as patch:
            kill_after(patch, _file_restore.os, steps)
            try:
                host.history().restored(wanted)
                break
            except Killed:
                pass
        for path, kept in host.tree().items():
            assert kept in (before.get(path), after.get(path)) or kept.kind == "directory", (steps, path)
        assert any(path.endswith("environment") for path in host.tree())
        # The run that comes next does not know what was asked for.
        assert host.history().restored("previous")["restored"] == wanted
        assert host.tree() == after
        assert not list(host.units.rglob(".*"))
        steps += 1
    assert steps > 15


def kill_after(patch, module, steps):
    """Let that many steps be done, and none after them."""
    left = [steps]

    def guarded(function):
        def call(*args, **kwargs):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return function(*args, **kwargs)

        return call

    for name in ("open", "fsync", "fchmod", "fchown", "replace", "unlink", "symlink", "mkdir", "rmdir"):
        patch.setattr(module, name, guarded(getattr(os, name)))


def test_a_kill_between_two_steps_of_keeping(host, monkeypatch):
    host.old()
    host.history().recorded(True, "")
    steps = 0
    while True:
        host.new()
        with monkeypatch.context() as patch:
            kill_after(patch, _history_store.os, steps)
            try:
                host.history().recorded(True, "")
                break
            except Killed:
                pass
        history = host.history()
        assert len(history.listed()["configurations"]) in (1, 2) and history.warnings == [], steps
        steps += 1
    assert steps > 5
    assert len(host.history().listed()["configurations"]) == 2
    assert not list((host.state / "history" / NAME).glob(".new*"))


def test_what_is_kept_is_not_kept_twice_and_the_newest_ten_stay(host):
    host.old()
    assert host.history().recorded(True, "")["changed"]
    assert not host.history().recorded(True, "")["changed"]
    assert host.history().recorded(True, "pin")["changed"]
    assert not host.history().recorded(False, "pin")["changed"]
    first = host.tree()
    for number in range(NEWEST + 3):
        host.put(NAME, f"[Service]\nExecStart=/bin/{number}\n")
        host.history().recorded(True, "")
    kept = host.history().listed()["configurations"]
    assert [one["label"] for one in kept] == [None] * NEWEST + ["pin"]
    assert [one["on_host"] for one in kept] == [True] + [False] * NEWEST
    host.history().restored("pin")
    assert host.tree() == first
    assert host.history().absent("pin")["changed"]
    assert not host.history().absent("pin")["changed"]
    assert len(host.history().listed()["configurations"]) == NEWEST


def test_one_that_worked_again_is_the_newest_again(host):
    host.old()
    one = host.history().recorded(True, "")["recorded"]
    host.new()
    two = host.history().recorded(True, "")["recorded"]
    assert host.history().restored("previous")["restored"] == one
    # Killed before it was proved: the next run goes on with it, and does not go back to where it came from.
    assert host.history().restored("previous")["restored"] == one
    told = host.history().recorded(True, "")
    assert (told["recorded"], told["last_good"]) == (one, one)
    assert host.history().restored("previous")["restored"] == two


def test_a_name_that_is_taken_passes_to_the_new_one(host):
    host.old()
    host.history().recorded(False, "try")
    new = host.new()
    host.history().recorded(False, "try")
    assert len(host.history().listed()["configurations"]) == 1
    host.old()
    host.history().restored("try")
    assert host.tree() == new


def test_what_was_found_is_the_way_back_of_the_first_change(host):
    old = host.old()
    host.history().recorded(False, "")
    host.new()
    assert not host.history().recorded(False, "")["changed"]
    assert host.history().restored("last_good")["changed"]
    assert host.tree() == old


def test_on_a_host_without_the_unit_there_is_no_way_back(host):
    """Also not to what the first run wrote before it was killed."""
    assert host.history().recorded(False, "")["configurations"] == []
    host.new()
    assert not host.history().recorded(False, "")["changed"]
    for to in ("last_good", "previous"):
        with pytest.raises(Failure, match="that worked is kept of the unit 'llm@a.service'; known are: none") as told:
            host.history().restored(to)
        assert told.value.failure_class == "condition_not_met"
    good = host.history().recorded(True, "")
    assert good["last_good"] == good["recorded"]
    assert len(list((host.state / "history" / NAME).glob("*.json"))) == 1


@pytest.mark.parametrize("cut", [0, 10, 100, -1])
def test_a_damaged_entry_costs_only_itself(host, cut):
    host.old()
    first = host.history().recorded(True, "")["recorded"]
    host.new()
    second = host.history().recorded(True, "")["recorded"]
    file = host.state / "history" / NAME / f"{second}.json"
    file.write_bytes(file.read_bytes()[:cut])
    (file.parent / "notes.txt").write_text("of an administrator")
    (file.parent / "20260101T000000Z.json").mkdir()
    (file.parent / "20260101T000001Z.json").symlink_to("/etc/passwd")
    history = host.history()
    assert [one["id"] for one in history.listed()["configurations"]] == [first]
    assert len(history.warnings) == 3 and str(file) in "".join(history.warnings)
    fault(
        "change",
        "A kept configuration is damaged",
        history.warnings[0].replace(str(host.state), "/var/lib/llmops-sglang"),
    )
    assert host.history().restored("previous")["restored"] == first
    # Its id is not used again while the damaged file lies there.
    assert host.history().recorded(True, "renamed")["recorded"] not in (first, second)


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "other.service", "x.wants/other.service", f"{NAME}.d/../x.conf", ""]
)
def test_an_entry_never_leads_out_of_the_unit_s_own_files(host, path):
    host.old()
    entry = host.history().recorded(True, "")["recorded"]
    file = host.state / "history" / NAME / f"{entry}.json"
    body = json.loads(file.read_text().partition("\n")[2])
    body["files"][0]["path"] = path
    text = json.dumps(body)
    file.write_text(_history_store.hashlib.sha256(text.encode()).hexdigest() + "\n" + text)
    with pytest.raises(Failure, match="no kept configuration"):
        host.history().restored(entry)


def test_a_directory_that_somebody_put_there_is_not_used(host, tmp_path):
    host.old()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (host.state / "history").mkdir(parents=True)
    (host.state / "history" / NAME).symlink_to(elsewhere)
    for call in (lambda: host.history().recorded(True, ""), lambda: host.history().listed()):
        with pytest.raises(Failure, match="no directory of this user") as told:
            call()
        assert told.value.failure_class == "no_permission"
    assert list(elsewhere.iterdir()) == []


def test_links_are_replaced_and_not_followed(host, tmp_path):
    host.old()
    host.history().recorded(True, "")
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (host.units / NAME).unlink()
    (host.units / NAME).symlink_to(victim)
    host.manager.vendor = True
    host.history().restored("last_good")
    assert victim.read_text() == "untouched" and not (host.units / NAME).is_symlink()


def test_a_unit_that_is_not_there_is_nothing_to_keep(host):
    with pytest.raises(Failure, match="There is no unit") as told:
        host.history().recorded(True, "")
    assert told.value.failure_class == "no_such_unit"
    # A task before this one may only have said that it would write it.
    assert host.history(True).recorded(True, "")["changed"]


def test_taken_away_is_all_of_this_unit_and_nothing_else(host):
    host.old()
    host.history().recorded(True, "x")
    host.history().recorded(True, "")
    times = StartTimes(host.places.start_times)
    times.add(configuration_key(NAME, ["a"]), 3.0)
    times.add(configuration_key("other.service", ["a"]), 3.0)
    (host.state / "diagnoses").mkdir()
    for name in (f"{NAME}-20261130T071500Z.tar.gz", "other.service-x.tar.gz"):
        (host.state / "diagnoses" / name).touch()
    copies = [f"{NAME}.123.2026-11-30@07:15:00~", f"{NAME}.d/zz-llmops-sglang.conf.9.2026-11-30@07:15:00~"]
    for copy in (*copies, f"{NAME}.mine~"):
        (host.units / copy).touch()
    assert host.history().absent("")["changed"]
    assert [copy for copy in copies if (host.units / copy).exists()] == []
    assert (host.units / f"{NAME}.mine~").exists()
    assert [p.name for p in (host.state / "diagnoses").iterdir()] == ["other.service-x.tar.gz"]
    assert not times.knows(NAME) and times.knows("other.service")
    assert not (host.state / "history" / NAME).exists()
    assert not host.history().absent("")["changed"]


def test_a_full_disk_leaves_what_is_kept(host, monkeypatch):
    host.old()
    host.history().recorded(True, "")
    host.new()
    monkeypatch.setattr(_history_store.os, "fsync", no_space)
    with pytest.raises(Failure, match="No space left on device: make room|No space left on device") as told:
        host.history().recorded(True, "")
    assert told.value.failure_class == "write_failed"
    assert len(host.history().listed()["configurations"]) == 1


def test_a_full_disk_is_told_before_the_first_write(host, monkeypatch):
    """The configuration of now is kept already; what comes next could not be."""
    host.old()
    host.history().recorded(True, "")
    assert not host.history(check_mode=True).recorded(False, "")["changed"]
    before = sorted((host.state / "history" / NAME).iterdir())
    assert not host.history().recorded(False, "")["changed"]
    assert sorted((host.state / "history" / NAME).iterdir()) == before
    monkeypatch.setattr(_history_store.os, "fsync", no_space)
    assert not host.history(check_mode=True).recorded(False, "")["changed"]
    with pytest.raises(Failure, match="No space left on device") as told:
        host.history().recorded(False, "")
    assert told.value.failure_class == "write_failed"


def test_a_full_disk_does_not_keep_from_going_back(host, monkeypatch):
    old = host.old()
    host.history().recorded(True, "")
    host.new()
    history = host.history()
    monkeypatch.setattr(_history_store.HistoryStore, "_replace", lambda self, path, text: no_space_for(self, path))
    assert history.restored("last_good")["changed"]
    assert host.tree() == old and "No space left" in history.warnings[0]


def no_space(*dummy):
    raise OSError(28, "No space left on device")


def no_space_for(store, path):
    raise store._write_failed(path, OSError(28, "No space left on device"))


def test_places(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    user, system = places_of("user"), places_of("system")
    assert (user.units, user.state) == ("/c/systemd/user", "/s/llmops-sglang")
    assert (system.units, system.state) == ("/etc/systemd/system", "/var/lib/llmops-sglang")
