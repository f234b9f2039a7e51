#!/usr/bin/env bash
# ddprun runs jobs without each system call that an old kernel lacks (ENOSYS) or that a container's
# filter refuses (EPERM): workers start again, are stopped, and die with their daemons.
. "$(dirname "$0")/odd_job.sh"

# both_work CALLS [SENTENCE]
both_work() {
  without "$1"
  whole_job
  without "$1" --refuse
  works "\`${1//,/\`, \`}\`" "${2:-}"
}
both_work pidfd_open
both_work pidfd_send_signal
both_work close_range
without clone3
works '`clone3`, answers ENOSYS'
without clone3 --refuse
refuses '`clone3`, answers EPERM' 71 "the system starts no thread for ddprun: Operation not permitted"
both_work memfd_create "workers' heartbeats are not seen"
both_work getrandom
both_work sched_getaffinity,sched_setaffinity
both_work timerfd_create,eventfd2
both_work prlimit64
both_work rseq,membarrier,madvise,getcpu
both_work unshare,mount,bpf,perf_event_open,kcmp,ptrace,process_vm_readv,userfaultfd,personality
both_work mbind,set_mempolicy,set_mempolicy_home_node,setpriority,ioprio_set,pkey_alloc
both_work openat2,faccessat2,statx,renameat2,copy_file_range,fallocate,preadv2,splice,inotify_init1
both_work epoll_pwait2,io_uring_setup,accept4,sendmmsg,process_madvise,pidfd_getfd

# What needs a call says which one.
for refuse in '' --refuse; do
  without getrandom ${refuse:+"$refuse"}
  run 71 secret
  says err "the system has no random numbers for a secret"
done
without sched_setaffinity --refuse
run 126 --numa-binding node --no-python true
says err "to its CPUs (--numa-binding): Operation not permitted"
rows_are_in "Without a system call"
