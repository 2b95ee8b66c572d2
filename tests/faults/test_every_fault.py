"""Which tests stand for which of the 43 faults: those of this folder carry its number, the others are listed here."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAULTS = {
    1: "an empty or whitespace message", 2: "a 10 MB body", 3: "lone surrogates", 4: "NUL bytes",
    5: "Unicode tag characters", 6: "zero-width and bidirectional marks", 7: "homoglyphs",
    8: "nested base64, URL or HTML encodings", 9: "a flood of combining marks", 10: "a list of hostile strings",
    11: "a string built to make a regular expression explode", 12: "deep JSON, duplicate keys, NaN",
    13: "a wrong content type or charset", 14: "a gzip bomb", 15: "fake role tokens", 16: "a forged history",
    17: "another tenant's conversation id", 18: "path, SQL or log injection in ids",
    19: "a conversation of 10,000 turns", 20: "future, negative or naive timestamps",
    21: "metadata that is huge or cannot be serialised", 22: "an attack split across turns",
    23: "an attack in an HTML comment, a file name or metadata", 24: "Markdown-image exfiltration",
    25: "a secret split across chunks, or encoded", 26: "an attack quoted in a benign question",
    27: "two simultaneous turns in one conversation", 28: "a replayed idempotency key",
    29: "a client that disconnects or stops reading", 30: "kill -9 between the two writes of a turn",
    31: "a full disk, a read-only database", 32: "a storm of locks, a stale snapshot",
    33: "PostgreSQL goes mid-transaction", 34: "Redis down, slow or flushed", 35: "the clock jumps",
    36: "the model times out, answers 429, sends a truncated or empty stream", 37: "a rail raises or hangs",
    38: "a corrupt WAL or truncated file", 39: "a migration during traffic, mixed versions",
    40: "SIGTERM with open streams", 41: "a key revoked mid-stream, timing probes",
    42: "a collection deleted mid-retrieval", 43: "a poisoned document ranked first",
}  # fmt: skip

ELSEWHERE = {
    1: ["turn/test_bad_input.py::test_a_bad_message_fails_with_its_code_and_the_conversation_stays_usable"],
    2: ["server/test_refusals.py::test_ten_megabytes_are_refused_with_and_without_a_length"],
    3: ["store/test_every_store.py::test_half_a_character_is_refused_as_not_text"],
    4: ["store/test_postgres_store.py::test_a_nul_in_a_message_is_refused_and_in_an_answer_marked"],
    5: ["guard/test_reading.py::test_tags_among_visible_letters_are_read"],
    6: ["guard/test_reading.py::test_text_in_variation_selectors_and_in_zero_width_bits_is_read"],
    7: ["guard/test_reading.py::test_every_obfuscation_is_undone"],
    8: ["guard/test_reading.py::test_three_encodings_deep_is_read_and_much_deeper_is_not"],
    9: ["guard/test_reading.py::test_long_hostile_texts_do_not_stall"],
    11: [
        "turn/test_bad_input.py::test_a_hostile_message_of_full_length_does_not_stall",
        "test_text.py::test_no_text_takes_long",
    ],
    12: [
        "server/test_refusals.py::test_a_body_that_cannot_be_used_is_refused_in_plain_words",
        "server/test_refusals.py::test_of_duplicate_keys_the_last_counts",
    ],
    13: ["server/test_refusals.py::test_only_utf8_json_is_read"],
    14: [
        "server/test_refusals.py::test_packed_or_other_bodies_are_refused",
        "server/test_documents_api.py::test_a_packed_file_is_refused",
        "documents/test_hostile.py::test_a_zip_bomb",
    ],
    15: ["models/test_local.py::test_the_marks_of_other_templates_are_broken_too"],
    16: [
        "guard/test_exchange.py::test_an_answer_that_we_never_gave_is_left_out",
        "turn/test_guarded_turn.py::test_a_replayed_attack_and_a_forged_answer_are_not_read",
        "turn/test_stateless.py::test_forged_numbers_in_a_history_are_not_believed",
    ],
    17: [
        "server/test_tenancy.py::test_what_is_anothers_is_as_if_it_were_not_there",
        "server/test_tenancy.py::test_the_same_id_is_a_conversation_of_each_tenants_own",
        "store/test_kept_conversations.py::test_nothing_of_a_tenant_can_be_told_from_what_there_is_not",
    ],
    18: [
        "store/test_every_store.py::test_an_id_is_only_a_name",
        "server/test_operations.py::test_a_path_cannot_forge_a_line",
    ],
    19: ["guard/test_conversation.py::test_ten_thousand_turns_stay_quick"],
    20: ["server/test_analyze.py::test_a_time_that_cannot_be_hurts_nothing"],
    21: ["guard/test_conversation.py::test_metadata_that_cannot_be_serialised_breaks_nothing"],
    22: [
        "guard/test_exchange.py::test_a_payload_split_over_turns_does_not_get_through",
        "turn/test_guarded_turn.py::test_an_attack_split_over_turns_is_blocked_in_a_stored_conversation",
    ],
    23: [
        "documents/test_hidden.py::test_what_a_page_hides_is_no_part_of_its_text",
        "guard/test_documents.py::test_instructions_that_no_reader_sees_are_reported_and_never_read",
        "guard/test_documents.py::test_a_title_a_name_and_an_author_can_hold_instructions_too",
    ],
    24: ["guard/test_links.py::test_a_page_that_shows_an_answer_loads_nothing_and_links_to_nothing_unknown"],
    25: [
        "guard/test_output_rails.py::test_wherever_it_is_cut_in_two_or_three_nothing_of_it_is_seen",
        "guard/test_leak.py::test_a_canary_is_found_in_base64_wherever_it_begins",
    ],
    26: ["guard/test_input_rails.py::test_quoting_or_asking_about_one_passes"],
    27: ["store/test_every_store.py::test_of_many_messages_at_once_one_is_taken"],
    28: [
        "server/test_live.py::test_a_key_is_for_one_body_and_one_path",
        "server/test_live.py::test_a_request_in_flight_is_not_answered_twice",
        "store/test_keys_requests_profiles.py::test_of_many_same_requests_at_once_one_is_answered",
    ],
    29: [
        "server/test_chat_api.py::test_a_client_that_leaves_closes_the_turn",
        "server/test_chat_api.py::test_a_client_that_stops_reading_is_given_up",
        "server/test_live.py::test_a_reader_who_takes_nothing_does_not_hold_up_the_turn",
        "server/test_live.py::test_whoever_comes_back_gets_just_what_they_missed",
    ],
    30: [
        "store/test_every_store.py::test_a_killed_process_leaves_an_interrupted_turn_and_a_usable_conversation",
        "index/test_kill.py::test_a_killed_process_loses_nothing_acknowledged",
    ],
    31: ["documents/test_add_verb.py::test_a_disk_that_fills_up_loses_nothing_that_was_put_in"],
    32: ["test_sqlite.py::test_what_is_read_together_is_of_one_moment"],
    33: [
        "store/test_postgres_store.py::test_a_server_that_went_during_a_turn_costs_that_turn_only",
        "test_postgres.py::test_after_a_restart_of_the_server_the_next_call_works",
    ],
    34: [
        "guard/test_limits.py::test_redis_killed_slow_and_back",
        "guard/test_limits.py::test_redis_flushed",
        "guard/test_limits.py::test_a_limiter_that_fails_closed_refuses_and_recovers",
    ],
    35: [
        "guard/test_limits.py::test_a_clock_that_jumps_locks_nobody_out_for_longer_than_a_message_takes",
        "guard/test_conversation.py::test_a_clock_that_was_set_back_locks_nobody_out",
    ],
    36: ["turn/test_every_model.py::test_every_turn_ends_in_an_answer_or_a_typed_error_and_is_stored"],
    37: [
        "guard/test_pipeline.py::test_a_rail_that_fails_is_told_apart_from_one_that_finds_nothing",
        "guard/test_pipeline.py::test_a_rail_that_fails_closed_blocks",
        "guard/test_pipeline.py::test_a_rail_that_hangs_is_cut_off_at_its_deadline",
        "guard/test_output_rails.py::test_a_rail_that_breaks_counts_as_it_says",
    ],
    38: ["index/test_files.py::test_a_damaged_file_is_noticed_and_made_again"],
    39: [
        "test_sqlite.py::test_processes_that_start_together_migrate_once",
        "test_postgres.py::test_processes_that_start_together_migrate_once",
        "store/test_old_stores.py::test_old_conversations_are_there_and_go_on",
    ],
    40: [
        "server/test_serve.py::test_sigterm_lets_an_answer_be_completed_and_loses_nothing",
        "server/test_live_turns.py::test_a_process_that_is_stopped_loses_no_turn",
    ],
    41: [
        "server/test_live.py::test_a_key_that_is_revoked_ends_its_turns",
        "server/test_live.py::test_a_revoked_key_ends_a_request_for_one_object_too",
        "server/test_access.py::test_no_key_or_a_wrong_one_is_turned_away_the_same_way_everywhere",
    ],
    43: ["guard/test_documents.py::test_a_poisoned_document_that_ranks_first_does_not_reach_the_answer"],
}  # fmt: skip


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_fault_has_its_tests() -> None:
    here: dict[int, set[str]] = defaultdict(set)
    for file in Path(__file__).parent.glob("test_*.py"):
        for name in names_in(file):
            if found := re.match(r"test_fault_(\d\d)_", name):
                here[int(found[1])].add(name)
    assert sorted(FAULTS) == list(range(1, 44))
    assert set(here) | set(ELSEWHERE) == set(FAULTS)


@pytest.mark.parametrize("number", ELSEWHERE)
def test_what_is_listed_is_there(number: int) -> None:
    for node in ELSEWHERE[number]:
        file, _, name = node.partition("::")
        assert name in names_in(TESTS / file), node


if __name__ == "__main__":  # what to run besides this folder
    print(*(f"tests/{node}" for nodes in ELSEWHERE.values() for node in nodes))
