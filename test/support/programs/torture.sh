# The torture tree: every way in which a program leaves its parent. Each member has the token $1 in its arguments.
# $2 is `stay`, `end` or `crash` for the main program; $3 is `all` to add the member that only a cgroup can hold.
n=$1
sh -c "sleep 3600.$n & wait" &
sleep "3600.$n" &
( sleep "3600.$n" & )
setsid sleep "3600.$n" &
nohup sleep "3600.$n" > /dev/null 2>&1 &
setsid sleep "3600.$n" <&- >&- 2>&- &
setsid sh -c "trap '' TERM; sleep 3600.$n & wait" &
sh -c 'kill -STOP $$' sh "3600.$n" &
env -i sleep "3600.$n" &
if [ "$3" = all ]; then ( env -i setsid sleep "3600.$n" & ); fi
echo planted > /dev/stdout
if [ "$2" = stay ]; then wait; fi
if [ "$2" = crash ]; then kill -KILL $$; fi
