# Ends what servers have started, should `mcpctl serve` be killed and end nothing itself any more.
#
# It reads from that process, until it is gone:
#   starting INODE   a server is being started; the pipe of that inode is its stdin
#   started SESSION  it has been, as the leader of that session
#   failed           it has not been
#   ended SESSION    nothing of that session is left
sessions=" "
starting=
while read -r event which; do
  case $event in
  starting) starting=$which ;;
  started) starting='' sessions="$sessions$which " ;;
  failed) starting= ;;
  ended) case $sessions in *" $which "*) sessions="${sessions%% "$which" *} ${sessions#* "$which" }" ;; esac ;;
  esac
done

# Kill everything in those sessions; `left` is then whether there was anything.
sweep() {
  left=
  for folder in /proc/[0-9]*; do
    stat=
    while read -r line; do stat="$stat$line "; done <"$folder/stat"
    pid=${folder#/proc/}
    set -f
    # After "PID (NAME) ", where the name may hold anything: STATE PPID PGRP SESSION …, the 18th the number of threads.
    set -- ${stat##*) }
    set +f
    [ "$1${18}" = Z1 ] && continue
    if [ "$starting" ] && [ "$4" = "$pid" ] && [ "$(readlink "$folder/fd/0")" = "pipe:[$starting]" ]; then
      sessions="$sessions$pid "
      starting=
    fi
    case $sessions in *" ${4:-none} "*) left=yes && kill -KILL "$pid" ;; esac
  done
}

for session in $sessions; do
  kill -KILL -- "-$session"
done
# What is forked meanwhile is found the next time.
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  sweep
  [ "$left" ] || [ "$starting" ] || break
  sleep 0.02
done
