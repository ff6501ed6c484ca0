"""The names of libFuzzer's flags, for `rondo.options` to refuse others: libFuzzer starts a campaign
with a mistyped one, and says so in a warning that is read too late, if at all.
"""

from __future__ import annotations

_SHOWN = """
    analyze_dict artifact_prefix cleanse_crash close_fd_mask collect_data_flow
    create_missing_dirs cross_over cross_over_uniform_dist data_flow_trace detect_leaks dict
    dump_coverage entropic entropic_feature_frequency_threshold
    entropic_number_of_rarest_features entropic_scale_per_exec_time error_exitcode
    exact_artifact_path exit_on_item exit_on_src_pos focus_function fork fork_corpus_groups
    handle_abrt handle_bus handle_fpe handle_ill handle_int handle_segv handle_term handle_usr1
    handle_usr2 handle_winexcept handle_xfsz help ignore_crashes ignore_ooms
    ignore_remaining_args ignore_timeouts jobs keep_seed len_control malloc_limit_mb max_len
    max_total_time merge merge_control_file minimize_crash mutate_depth mutation_graph_file
    only_ascii prefer_small print_corpus_stats print_coverage print_final_stats
    print_full_coverage print_funcs print_pcs purge_allocator_interval reduce_depth
    reduce_inputs reload report_slow_units rss_limit_mb runs seed seed_inputs set_cover_merge
    shrink shuffle stop_file timeout timeout_exitcode trace_malloc use_clang_coverage use_cmp
    use_counters use_memmem use_value_profile verbosity workers
"""
SHOWN = frozenset(_SHOWN.split())
"""Those that `-help=1` lists."""
FLAGS = SHOWN | {"atheris_runs"}
"""Those that a campaign can be started with; libFuzzer gives its own processes others too."""
