"use strict";
/* Asks the server that the page is from; what goes wrong becomes a line to show. */
const tfcrAsk = (() => {
  const FIRST_WAIT = 500, LONGEST_WAIT = 5000; // milliseconds before asking again; twice as long each time
  const LATE = 10000; // milliseconds after which a newer wish does not wait for the answer to an older one
  const UNREACHABLE = "The server cannot be reached; asking again…";

  class Problem extends Error {
    constructor(message, again) {
      super(message);
      this.again = again; // whether asking again may help
    }
  }

  async function ask(path, options) {
    let answer, body;
    try {
      answer = await fetch(path, options);
      body = await answer.text();
    } catch (error) {
      throw new Problem(UNREACHABLE, true);
    }
    let found;
    try {
      found = JSON.parse(body);
    } catch (error) {
      throw new Problem(`The server answered ${answer.status}, which this page does not understand; asking again…`, true);
    }
    if (answer.ok) return found;
    const busy = answer.status === 503;
    throw new Problem(`${sentence(found.error)} Expected: ${found.expected}${busy ? "; asking again…" : "."}`, busy);
  }

  const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

  const get = (path, parameters = {}) => {
    const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== "" && value !== undefined);
    return ask(given.length ? `${path}?${new URLSearchParams(given)}` : path, {});
  };

  // Half of a surrogate pair is no text that JSON in UTF-8 can hold.
  const clean = (value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value);

  const post = (path, body, signal) =>
    ask(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body, (_, value) => clean(value)),
      signal,
    });

  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  // Return a function that wishes for something: of many wishes the newest is asked for, one at a time, until it is
  // answered; an answer that is late is given up for a newer wish. `asks` gets a wish and a signal to stop by, `shows` the
  // answer. What goes wrong is said in `place`.
  function newest(place, asks, shows) {
    let latest = null, wanted = 0, done = 0, runs = false, stopper = null, since = 0;

    async function one(number) {
      stopper = new AbortController();
      since = Date.now();
      const found = await asks(latest, stopper.signal);
      done = number;
      tfcrView.say(place, "");
      shows(found);
    }

    async function run() {
      runs = true;
      for (let wait = FIRST_WAIT; done < wanted; ) {
        const number = wanted;
        try {
          await one(number);
          wait = FIRST_WAIT;
        } catch (problem) {
          if (!(problem instanceof Problem)) throw problem;
          if (stopper.signal.aborted) continue;
          tfcrView.say(place, problem.message);
          if (!problem.again) done = number;
          else await pause(wait);
          wait = Math.min(2 * wait, LONGEST_WAIT);
        }
      }
      runs = false;
    }

    return (wish) => {
      latest = wish;
      wanted += 1;
      if (!runs) run();
      else if (Date.now() - since > LATE) stopper.abort();
    };
  }

  return { get, post, newest, Problem };
})();
