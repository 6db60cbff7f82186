R=$1; shift
python3 /work/wt/readahead/Tools/lab/slow-server /tmp/readahead/h $R > port2 & P=$!; sleep 1; PORT=$(head -1 port2)
B=$(date +%s.%N)
"$@" http://127.0.0.1:$PORT/list.m3u8 > out2 2>&1 & Q=$!
sleep 12; kill -USR1 $P; sleep 10; kill -USR2 $P
( while kill -0 $Q 2>/dev/null; do grep VmRSS /proc/$Q/status >> rss2; sleep 1; done ) 
wait $Q; echo "status $? seconds $(echo "$(date +%s.%N) - $B" | bc)"; kill $P
