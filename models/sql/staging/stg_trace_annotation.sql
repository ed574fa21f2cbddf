/*
purpose: named stretches of host threads: profiler steps, user annotations, modules
grain: one row per stretch
keys: source_file, event_no
columns:
    source_file | VARCHAR | - | file
    event_no | BIGINT | - | event in the file
    pid | BIGINT | - | process
    tid | BIGINT | - | thread
    start_ns | BIGINT | ns | start, epoch
    end_ns | BIGINT | ns | end, epoch, exclusive
    kind | VARCHAR | - | step, user or module
    name | VARCHAR | - | name
    step_no | BIGINT | - | number of the profiler's step
    module_path | VARCHAR | - | classes from the outermost module in
*/
select
    source_file,
    event_no,
    pid,
    tid,
    start_ns,
    end_ns,
    kind,
    name,
    step_no,
    module_path
from trace_annotation
where end_ns > start_ns
