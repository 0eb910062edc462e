// Loaded before Azurite (`node --require`): its time is what the requests say, so that a test's virtual hours pass there too.
//
// A request with the header `x-test-now` (Unix seconds) sets the time for everything that Azurite does from then on;
// without it the time is the machine's. Versions of rows are made of the time, so their last digits are counted.
'use strict';

const http = require('node:http');

const Machine = Date;
let now = null;
let ticks = 0;

class Told extends Machine {
  constructor(...words) {
    if (words.length === 0) super(Told.now());
    else super(...words);
  }

  static now() {
    return now === null ? Machine.now() : now;
  }
}

global.Date = Told;

const hrtime = process.hrtime;
process.hrtime = function (before) {
  if (before !== undefined || now === null) return hrtime(before);
  ticks = (ticks + 1) % 10000;
  return [0, 1000 + ((ticks * 7) % 9000)];
};
process.hrtime.bigint = hrtime.bigint;

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, request, ...rest) {
  if (event === 'request') {
    const told = request.headers['x-test-now'];
    now = told === undefined ? null : Number(told) * 1000;
    delete request.headers['x-test-now'];
  }
  return emit.call(this, event, request, ...rest);
};
