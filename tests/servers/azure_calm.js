// Loaded before Azurite (`node --require`): it does not stop answering once a minute.
//
// Its queues keep the bytes of each message apart, and once a minute drop those of deleted messages, one by one, with an
// index built anew for each and without a pause: 0.4 s of CPU after 2,000 messages, 1.9 s after 4,000, and several times
// that on the clock where others want the cores too. Nobody is answered meanwhile, and our calls end after ten seconds
// with their outcome unknown. It is a stand-in that lives for minutes: it may keep them.
'use strict';

const path = require('node:path');

const LONGEST_TIMER_MS = 2 ** 31 - 1;

for (const service of ['queue', 'blob']) {
  const constants = require(path.join(path.dirname(process.argv[1]), service, 'utils', 'constants.js'));
  if (!(constants.DEFAULT_GC_INTERVAL_MS > 0)) throw new Error(`azurite's ${service} tells no interval any more`);
  constants.DEFAULT_GC_INTERVAL_MS = LONGEST_TIMER_MS;
}
