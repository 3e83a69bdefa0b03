tools/call greet of http://127.0.0.1:7300/mcp http/1.1, 2026-07-28, 1 connection
  answers  17,309/s   2,000 in 0.1 s
  latency  p50 49.4 µs   p90 52.6 µs   p99 105.0 µs   p99.9 1.56 ms   max 2.85 ms   average 57.1 µs ± 99.0 µs
  bytes    1.0 MB sent, 622 kB received
  server   55.0 µs of processor time an answer, 0.95 processors, memory 20.6 MB → 20.6 MB

     10%    48.9 µs  ▇
     50%    49.4 µs  ▇
     90%    52.6 µs  ▇▇
     99%   110.9 µs  ▇▇▇▇▇▇▇▇▇
   99.9%    2.43 ms  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
     max    2.85 ms  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
