"use strict";
/* Classifies and explains texts by a table that `tfcr export` wrote; docs/export.md describes the table.
 *
 * It reads the arrays that Python reads (src/tfcr/trained/word_table.py), and gives the same labels and contributions.
 * Nothing in a table is run. Positions are those of JavaScript: UTF-16 units, as text.slice(start, end) takes them.
 *
 *     const model = tfcr.read(JSON.parse(...));
 *     const found = tfcr.explain(model, "text");    // {label, probabilities, terms: [{term, added, spans}], ...}
 */
const tfcr = (() => {
  // What a tokeniser does with a character; see "The tokeniser" in docs/export.md.
  const [END, MORE, KEEP, SKIP, SYMBOL, ALONE, MARK] = [0, 1, 2, 3, 4, 5, 6];
  const MAX_MARKS = 30; // marks in a row that are normalised together
  const MOST_REMEMBERED = 20000; // terms
  const MAX_CHARACTERS = 64; // characters of a word that is cut into pieces

  // reading a table -------------------------------------------------------------------------------------------------

  const TYPES = {
    int8: (bytes) => new Int8Array(bytes.buffer),
    uint8: (bytes) => bytes,
    uint16: (bytes) => new Uint16Array(bytes.buffer),
    uint32: (bytes) => new Uint32Array(bytes.buffer),
    float32: (bytes) => new Float32Array(bytes.buffer),
    // the upper half of a float32
    bfloat16: (bytes) => {
      const halves = new Uint16Array(bytes.buffer), whole = new Uint32Array(halves.length);
      for (let i = 0; i < halves.length; i++) whole[i] = halves[i] << 16;
      return new Float32Array(whole.buffer);
    },
  };

  function numbers({ type, data }) {
    const decoded = atob(data), bytes = new Uint8Array(decoded.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = decoded.charCodeAt(i);
    return TYPES[type](bytes);
  }

  // [3, 4, 1, 0]: the first three code points have the value 4, the next has 0.
  function fill(array, runs, put) {
    let at = 0;
    for (let i = 0; i < runs.length; i += 2) {
      const end = at + runs[i];
      if (runs[i + 1]) for (let code = at; code < end; code++) array[code] = put(array[code], runs[i + 1]);
      at = end;
    }
  }

  const IS_MARK = 8, IS_UNASSIGNED = 16, ACTION = 7; // bits of what is known of a character

  function readTokenizer(said) {
    const characters = new Uint8Array(0x110000);
    fill(characters, said.actions, (_, action) => action);
    fill(characters, said.marks, (before) => before | IS_MARK);
    fill(characters, said.unassigned, (before) => before | IS_UNASSIGNED);
    return { ...said, characters };
  }

  function readRows(said, starts) {
    const widths = said.groups.map((group) => starts[group + 1] - starts[group]);
    const offsets = []; // where the stretch of each group begins in a row
    let width = 0;
    for (const one of widths) {
      offsets.push(width);
      width += 1 + one;
    }
    return { groups: said.groups, offsets, width, weights: numbers(said.weights), values: numbers(said.values) };
  }

  // Where the entries of each term begin, and their values: sums over the sizes of all terms before.
  function readEntries(said, starts) {
    const sizes = numbers(said.sizes), groups = numbers(said.groups);
    const entries = new Uint32Array(sizes.length + 1), values = new Uint32Array(sizes.length + 1);
    for (let term = 0; term < sizes.length; term++) {
      let width = 0;
      for (let i = entries[term]; i < entries[term] + sizes[term]; i++) width += 1 + starts[groups[i] + 1] - starts[groups[i]];
      entries[term + 1] = entries[term] + sizes[term];
      values[term + 1] = values[term] + width;
    }
    return { entries, places: values, groups, weights: numbers(said.weights), values: numbers(said.values) };
  }

  function numbered(terms) {
    const found = new Map();
    for (let number = 0; number < terms.length; number++) found.set(terms[number], number);
    return found;
  }

  function read(table) {
    if (table.format !== "tfcr-table" || table.version !== 1) {
      throw new Error(`found the format ${table.format} ${table.version}; expected tfcr-table 1`);
    }
    const words = table.words.terms ? table.words.terms.split(" ") : [];
    const pairs = numbers(table.bigrams.terms);
    const bigrams = new Map();
    for (let i = 0; i < pairs.length; i += 2) bigrams.set(pairs[i] * words.length + pairs[i + 1], i / 2);
    const scales = numbers(table.scales);
    return {
      classes: table.classes,
      link: table.link,
      decision: table.decision,
      several: table.decision.form !== "label",
      tokenizer: readTokenizer(table.tokenizer),
      intercepts: table.intercepts,
      starts: table.starts,
      outputs: table.outputs,
      divisors: table.divisors,
      scales,
      nScales: scales.length / table.divisors.length,
      words,
      numbers: numbered(words),
      pairs,
      bigrams,
      skipSymbols: table.bigrams.skip_symbols && table.tokenizer.symbols,
      wordRows: readRows(table.words, table.starts),
      bigramRows: readRows(table.bigrams, table.starts),
      entries: readEntries(table.entries, table.starts),
      remembered: new Map(),
      pieces: table.pieces.map((some) => ({
        segmentation: some.segmentation,
        numbers: numbered(some.terms ? some.terms.split("\n") : []),
        rows: readRows(some, table.starts),
      })),
    };
  }

  // tokens ----------------------------------------------------------------------------------------------------------

  // Cut a text where NFC in Python differs from that of newer versions of Unicode, and after MAX_MARKS marks in a row.
  function* stretches(text, characters) {
    let start = 0, marks = 0;
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at), width = code > 0xffff ? 2 : 1;
      if (characters[code] & IS_UNASSIGNED) {
        if (at > start) yield [start, at, true];
        yield [at, at + width, false];
        start = at + width;
        marks = 0;
      } else {
        marks = characters[code] & IS_MARK ? marks + 1 : 0;
        if (marks === MAX_MARKS) {
          yield [start, at + width, true];
          start = at + width;
          marks = 0;
        }
      }
      at += width;
    }
    if (start < text.length) yield [start, text.length, true];
  }

  const NOT_ASCII = /[^\0-\x7f]/;

  function compose(text, tokenizer) {
    if (!NOT_ASCII.test(text)) return text;
    let composed = "";
    for (const [start, end, assigned] of stretches(text, tokenizer.characters)) {
      const part = text.slice(start, end);
      composed += assigned ? part.normalize("NFC") : part;
    }
    return composed;
  }

  // The last step of preparing a text; characters that Python's Unicode does not know yet stay as they are.
  function lower(text, tokenizer) {
    if (!tokenizer.lower) return text;
    if (!NOT_ASCII.test(text)) return text.toLowerCase();
    let lowered = "", start = 0;
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at), width = code > 0xffff ? 2 : 1;
      if (tokenizer.characters[code] & IS_UNASSIGNED) {
        lowered += text.slice(start, at).toLowerCase() + text.slice(at, at + width);
        start = at + width;
      }
      at += width;
    }
    return lowered + text.slice(start).toLowerCase();
  }

  function prepare(text, tokenizer) {
    return lower(compose(text, tokenizer), tokenizer);
  }

  function countCodePoints(text) {
    let count = 0;
    for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) count++;
    return count;
  }

  function mayCompose(before, code, characters) {
    const hangul = (before >= 0x1100 && before <= 0x11ff) || (before >= 0xac00 && before <= 0xd7a3);
    return (characters[code] & IS_MARK) !== 0 || (hangul && code >= 0x1160 && code <= 0x11ff);
  }

  // For each unit of the prepared text, the start and the end of the characters of the text that it comes from; null if
  // these are its own place.
  function origins(text, prepared, tokenizer) {
    if (text.length === prepared.length && compose(text, tokenizer) === text) return null;
    const starts = new Uint32Array(prepared.length), ends = new Uint32Array(prepared.length);
    let filled = 0, characters = 0;
    const add = (start, end) => {
      const part = prepare(text.slice(start, end), tokenizer);
      characters += countCodePoints(part);
      starts.fill(start, filled, filled + part.length);
      ends.fill(end, filled, filled + part.length);
      filled += part.length;
    };
    let start = 0, before = -1;
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at);
      if (at > 0 && !mayCompose(before, code, tokenizer.characters)) {
        add(start, at);
        start = at;
      }
      before = code;
      at += code > 0xffff ? 2 : 1;
    }
    if (text) add(start, text.length);
    if (characters !== countCodePoints(prepared)) { // a composition across runs: no positions are better than wrong ones
      starts.fill(0);
      ends.fill(text.length);
    }
    return { starts, ends };
  }

  // Words and symbols end one another; with the tokeniser `symbols`, "so good!!" gives so, good and !!.
  function tokenize(text, tokenizer) {
    const prepared = prepare(text, tokenizer), origin = origins(text, prepared, tokenizer);
    const found = { tokens: [], starts: [], ends: [] };
    let token = "", kind = KEEP, first = 0, last = 0, skipped = false;
    const finish = () => {
      if (last > first) {
        found.tokens.push(skipped ? token : prepared.slice(first, last));
        found.starts.push(origin ? origin.starts[first] : first);
        found.ends.push(origin ? origin.ends[last - 1] : last);
      }
      token = "";
      skipped = false;
      kind = KEEP;
      first = last = 0;
    };
    for (let at = 0; at < prepared.length; ) {
      const code = prepared.codePointAt(at), width = code > 0xffff ? 2 : 1;
      const started = last > first;
      let action = tokenizer.characters[code] & ACTION;
      if (action === END || (action === MORE && (kind === SYMBOL || !started))) {
        finish();
        at += width;
        continue;
      }
      if (action === MARK && !started) action = SYMBOL;
      const goesOn = action === MORE || action === MARK || action === SKIP || (action === kind && action !== ALONE);
      if (started && !goesOn) {
        finish();
        continue; // the same character begins the next token
      }
      if (action === SKIP) {
        if (started && !skipped) {
          token = prepared.slice(first, last);
          skipped = true;
        }
      } else {
        if (!started) first = at;
        if (action !== MORE && action !== MARK) kind = action;
        if (skipped) token += prepared.slice(at, at + width);
        last = at + width;
      }
      at += width;
    }
    finish();
    return found;
  }

  function isSymbol(token, tokenizer) {
    const action = tokenizer.characters[token.codePointAt(0)] & ACTION;
    return action === SYMBOL || action === MARK;
  }

  // pieces of words that training never saw -------------------------------------------------------------------------

  function edged(word) {
    return [" ", ...Array.from(word).slice(0, MAX_CHARACTERS), " "];
  }

  function known(pieces, all) {
    return pieces.filter((piece) => all.has(piece)).map((piece) => all.get(piece));
  }

  function ngrams(word, all) {
    const letters = edged(word), pieces = new Set();
    for (let size = 2; size <= 5; size++) {
      for (let at = 0; at + size <= letters.length; at++) pieces.add(letters.slice(at, at + size).join(""));
    }
    return known([...pieces], all);
  }

  function affixes(word, all) {
    const letters = edged(word), pieces = new Set();
    for (let size = 2; size <= Math.min(5, letters.length); size++) {
      pieces.add(letters.slice(0, size).join(""));
      pieces.add(letters.slice(-size).join(""));
    }
    return known([...pieces], all);
  }

  function longest(word, all) {
    const letters = edged(word).slice(0, -1), found = [];
    for (let at = 0; at < letters.length; ) {
      let size = letters.length - at;
      while (size && !all.has(letters.slice(at, at + size).join(""))) size--;
      if (size) found.push(all.get(letters.slice(at, at + size).join("")));
      at += Math.max(size, 1);
    }
    return found;
  }

  // Join the two neighbours whose union comes first in the list, again and again.
  function merge(word, all) {
    const parts = edged(word).slice(0, -1);
    for (;;) {
      let best = -1, rank = Infinity;
      for (let at = 0; at + 1 < parts.length; at++) {
        const number = all.get(parts[at] + parts[at + 1]);
        if (number !== undefined && number < rank) [best, rank] = [at, number];
      }
      if (best < 0) return known(parts, all);
      parts.splice(best, 2, parts[best] + parts[best + 1]);
    }
  }

  function whole(word, all) {
    return Array.from(word).length <= MAX_CHARACTERS ? known([` ${word} `], all) : [];
  }

  const SEGMENTATIONS = { ngrams, affixes, longest, merge, whole };

  // scores ----------------------------------------------------------------------------------------------------------

  // A stretch is what a term adds to a group: its weight in the divisor, and a value for each column.
  function stretch(model, group, weight, values, at, scaled) {
    const code = Math.min(Math.max(Math.trunc(values[at]), 0), model.nScales - 1);
    const scale = scaled ? model.scales[group * model.nScales + code] : 1;
    return { group, weight, values, first: at + 1, scale };
  }

  function stretchesOfRow(model, rows, number) {
    return rows.groups.map((group, k) =>
      stretch(model, group, rows.weights[number * rows.groups.length + k], rows.values, number * rows.width + rows.offsets[k], true));
  }

  function stretchesOfEntries(model, term) {
    const { entries, places, groups, weights, values } = model.entries, found = [];
    if (term + 1 >= entries.length) return found;
    let at = places[term];
    for (let i = entries[term]; i < entries[term + 1]; i++) {
      found.push(stretch(model, groups[i], weights[i], values, at, true));
      at += 1 + model.starts[groups[i] + 1] - model.starts[groups[i]];
    }
    return found;
  }

  // The rows of an unseen word's pieces, added up.
  function stretchesOfPieces(model, word) {
    return model.pieces.map(({ segmentation, numbers: all, rows }) => {
      const group = rows.groups[0], values = new Float32Array(rows.width), sums = new Float64Array(rows.width);
      let weight = 0;
      for (const number of SEGMENTATIONS[segmentation](word, all)) {
        const [piece] = stretchesOfRow(model, rows, number);
        weight += piece.weight;
        for (let i = 0; i + 1 < rows.width; i++) sums[i + 1] += rows.values[piece.first + i] * piece.scale;
      }
      values.set(sums);
      return stretch(model, group, Math.fround(weight), values, 0, false);
    });
  }

  // Remembered, as most terms of a text are those of the text before the last key press.
  function stretchesOfTerm(model, term) {
    const key = term.unseen ? term.term : term.number;
    let found = model.remembered.get(key);
    if (found === undefined) {
      if (model.remembered.size >= MOST_REMEMBERED) model.remembered.clear();
      model.remembered.set(key, (found = lookedUp(model, term)));
    }
    return found;
  }

  function lookedUp(model, term) {
    if (term.unseen) return stretchesOfPieces(model, term.term);
    const nWords = model.words.length;
    const [rows, number] = term.bigram ? [model.bigramRows, term.number - nWords] : [model.wordRows, term.number];
    return [...stretchesOfRow(model, rows, number), ...stretchesOfEntries(model, term.number)];
  }

  function newTerm(term, number, unseen, bigram) {
    return { term, number, unseen, bigram, count: 0, at: [] };
  }

  // The terms of a text with their counts, and the tokens that each stands on, first and last, of tokens up to `until`.
  function findTerms(model, { tokens, ends }, until) {
    const terms = new Map(), nWords = model.words.length;
    const add = (key, first, last, make) => {
      let term = terms.get(key);
      if (term === undefined) terms.set(key, (term = make()));
      term.count++;
      if (ends[last] <= until) term.at.push(first, last);
    };
    let before = -1, placeBefore = -1; // the word before this one, -1 if it is unknown
    tokens.forEach((token, place) => {
      const number = model.numbers.get(token) ?? -1;
      add(number >= 0 ? number : token, place, place, () => newTerm(token, number, number < 0, false));
      if (!model.bigrams.size || (model.skipSymbols && isSymbol(token, model.tokenizer))) return;
      const bigram = number >= 0 && before >= 0 ? model.bigrams.get(before * nWords + number) : undefined;
      if (bigram !== undefined) {
        const name = `${model.words[before]} ${token}`;
        add(nWords + bigram, placeBefore, place, () => newTerm(name, nWords + bigram, false, true));
      }
      [before, placeBefore] = [number, place];
    });
    return [...terms.values()];
  }

  function sublinear(count) {
    return count < 1 ? count : 1 + Math.log(count);
  }

  // What each term adds to each output: count · value · scale / divisor of its group.
  function addUp(model, terms, length) {
    const { divisors, starts, outputs } = model, totals = new Float64Array(divisors.length);
    const stretched = terms.map((term) => stretchesOfTerm(model, term));
    terms.forEach(({ count }, i) => {
      const root = sublinear(count);
      for (const { group, weight } of stretched[i]) totals[group] += (divisors[group].sublinear ? root * root : count) * weight;
    });
    const factors = divisors.map((how, group) => {
      const total = how.sublinear ? Math.sqrt(Math.max(totals[group], 0)) : totals[group];
      const divisor = how.weights * total + how.length * length + how.one;
      return divisor > 0 ? 1 / divisor : 0;
    });
    return terms.map(({ count }, i) => {
      const added = new Float64Array(model.intercepts.length), root = sublinear(count);
      for (const { group, values, first, scale } of stretched[i]) {
        const times = (divisors[group].sublinear ? root : count) * scale * factors[group], end = starts[group + 1];
        for (let column = starts[group], at = first; column < end; column++, at++) added[outputs[column]] += values[at] * times;
      }
      return added;
    });
  }

  // decision --------------------------------------------------------------------------------------------------------

  // One number per class: a single output speaks for the second class and against the first.
  function perClass(outputs, factor = 1) {
    return outputs.length === 1 ? [-outputs[0] * factor, outputs[0] * factor] : Array.from(outputs);
  }

  function expit(value) {
    const small = Math.exp(-Math.abs(value));
    return (value >= 0 ? 1 : small) / (1 + small);
  }

  function softmax(values) {
    const largest = Math.max(...values), powers = values.map((value) => Math.exp(value - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  const LINKS = {
    sigmoid: (outputs) => {
      const each = perClass(outputs).map(expit), total = each.reduce((sum, one) => sum + one, 0);
      return each.map((one) => (total > 0 ? one / total : 1 / each.length));
    },
    softmax: (outputs) => softmax(perClass(outputs)),
    multinomial: (outputs) => softmax(perClass(outputs, 0.5)),
    independent: (outputs) => Array.from(outputs, expit),
  };

  function calibrated(calibration, outputs) {
    return perClass(outputs, 0.5).map((score, number) => calibration.scale * score + calibration.offsets[number]);
  }

  function probabilitiesOf(model, outputs) {
    const { calibration } = model.decision;
    return LINKS[model.link](calibration ? calibrated(calibration, outputs) : outputs);
  }

  // What labels are picked by: the largest; of several labels, all above 0.
  function marginsOf(model, outputs, probabilities) {
    const { costs, rule, calibration, thresholds } = model.decision;
    if (costs) return model.classes.map((_, to) => -probabilities.reduce((sum, one, from) => sum + one * costs[from][to], 0));
    if (rule === "probability" && calibration) return calibrated(calibration, outputs);
    return model.several ? outputs.map((score, number) => score - (thresholds ? thresholds[number] : 0)) : perClass(outputs);
  }

  function decide(model, outputs) {
    const probabilities = probabilitiesOf(model, outputs), margins = marginsOf(model, outputs, probabilities);
    const order = model.classes.map((_, number) => number).sort((one, two) => margins[two] - margins[one] || one - two);
    const [best] = order, least = model.decision.least_probabilities;
    return {
      probabilities,
      margins,
      order, // numbers of the classes, the one that is picked first
      labels: model.several ? model.classes.filter((_, number) => margins[number] > 0) : [model.classes[best]],
      sure: model.several || !least || probabilities[best] >= least[best],
    };
  }

  // explanation -----------------------------------------------------------------------------------------------------

  // All of the text is counted; of a long one, spans beyond `until` may be left out, which would take much memory.
  function explain(model, text, until = Infinity) {
    const found = tokenize(text, model.tokenizer), terms = findTerms(model, found, until);
    const added = addUp(model, terms, found.tokens.length);
    const outputs = model.intercepts.map((score, output) => added.reduce((sum, one) => sum + one[output], score));
    const decided = decide(model, outputs), [best] = decided.order;
    const named = terms.map((term, i) => ({
      term: term.term,
      count: term.count,
      unseen: term.unseen,
      bigram: term.bigram,
      added: perClass(added[i]),
      spans: spansOf(term.at, found),
    }));
    const adding = named.filter((term) => !term.unseen || term.added.some((value) => value !== 0));
    return {
      ...decided,
      scores: perClass(outputs),
      baseline: perClass(model.intercepts),
      terms: adding.sort((one, two) => two.added[best] - one.added[best]),
      unknown: named.filter((term) => term.unseen && !term.added.some((value) => value !== 0)).map((term) => term.term),
    };
  }

  function spansOf(at, { starts, ends }) {
    const spans = [];
    for (let i = 0; i < at.length; i += 2) spans.push([starts[at[i]], ends[at[i + 1]]]);
    return spans;
  }

  // Each word where it stands, and what it adds there to the score of a class; half of a bigram goes to each word.
  function marks(explanation, number) {
    const added = new Map(), starts = new Map(), ends = new Map();
    const key = ([start, end]) => start * 0x4000000 + end;
    for (const { bigram, spans } of explanation.terms) {
      if (bigram) continue;
      for (const span of spans) {
        added.set(key(span), { start: span[0], end: span[1], added: 0 });
        starts.set(span[0], key(span));
        ends.set(span[1], key(span));
      }
    }
    for (const { bigram, spans, count, added: values } of explanation.terms) {
      const share = values[number] / count;
      for (const span of spans) {
        const covered = bigram ? [starts.get(span[0]), ends.get(span[1])] : [key(span)];
        for (const one of covered) added.get(one).added += share / covered.length;
      }
    }
    return [...added.values()].filter((mark) => mark.added !== 0).sort((one, two) => one.start - two.start || one.end - two.end);
  }

  return { read, prepare, tokenize, explain, marks, decide, SEGMENTATIONS, LINKS };
})();

if (typeof module !== "undefined") module.exports = tfcr;
