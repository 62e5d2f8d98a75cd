import { describe, expect, it } from 'vitest';
import type { Figure } from './figure.ts';
import {
  type Paper,
  renderAlert,
  renderEnd,
  renderLine,
  renderNewAddresses,
  renderRejections,
  renderRulesNews,
  renderView,
  Screen,
  type ViewState,
} from './live-view.ts';

function answered(value: number): Figure {
  return { value, silentSeconds: 0 };
}

const state: ViewState = {
  upSeconds: 75,
  dataFolder: undefined,
  olderTotals: false,
  posted: { posted: 45, accepted: 0, rejected: 45, repeatedPosts: 0, maybeTwice: 0 },
  taken: { accepted: 12_300, rejected: 45 },
  progress: {
    gateway: { counts: { accepted: 12_300, rejected: 45 }, silentSeconds: 0 },
    indexed: answered(12_000),
    archived: answered(11_000),
    lag: new Map([
      ['indexer', answered(300)],
      ['archiver', answered(1300)],
    ]),
    alerts: { facts: undefined, silentSeconds: 0 },
  },
  alerts: { fired: 0, told: [] },
  acceptedPerSecond: 49.6,
  urls: { post: 'http://127.0.0.1:1/v1/events', search: undefined },
  health: { 'ingest-gateway': 'http://127.0.0.1:2', indexer: undefined },
};

describe('the live view', () => {
  it('shows what arrived where', () => {
    const text = renderView(state).join('\n');
    for (const shown of ['12,300', '50 a second, 45 rejected', '12,000', 'indexer 300 · archiver 1,300 (records)', 'up 1 min 15 s']) {
      expect(text).toContain(shown);
    }
    expect(text).toContain('search     starting');
    expect(text).not.toContain('repeated');
    expect(text).not.toContain('no answer');
  });

  it('of a server that does not answer it shows the last figure and for how long that is, or that there was none yet', () => {
    const hanging: ViewState = {
      ...state,
      progress: {
        gateway: { counts: state.taken, silentSeconds: 2 },
        indexed: { value: 12_000, silentSeconds: 61 },
        archived: { value: undefined, silentSeconds: 3 },
        lag: new Map([
          ['indexer', { value: 300, silentSeconds: 4 }],
          ['archiver', { value: undefined, silentSeconds: 0 }],
        ]),
        alerts: { facts: undefined, silentSeconds: 0 },
      },
    };
    const text = renderView(hanging).join('\n');
    expect(text).toMatch(/accepted +12,300 .* a second, 45 rejected, no answer for 2 s\n/);
    expect(text).toMatch(/indexed +12,000 {3}in OpenSearch, no answer for 1 min 1 s\n/);
    expect(text).toMatch(/archived +- {3}in Parquet on S3, no answer for 3 s\n/);
    expect(text).toContain('indexer 300 (no answer for 4 s) · archiver not known yet (records)');
    const totals = 'accepted 12,300 (no answer for 2 s), 45 rejected, indexed 12,000 (no answer for 1 min 1 s), archived no answer for 3 s';
    expect(renderLine(hanging)).toBe(`1 min 15 s  ${totals}, lag: indexer 300 (no answer for 4 s), archiver not known yet`);
    expect(renderEnd(hanging)).toBe(`ran 1 min 15 s; last seen: ${totals}`);
  });

  it('counts what the gateway took from whomever, not only what this start has posted', () => {
    const view = { ...state, posted: { ...state.posted, posted: 0, rejected: 0 }, taken: { accepted: 7, rejected: 2 } };
    expect(renderView(view).join('\n')).toMatch(/accepted +7 .*, 2 rejected/);
    expect(renderLine(view)).toContain('accepted 7, 2 rejected,');
    expect(renderEnd(view)).toContain('accepted 7, 2 rejected,');
  });

  it('tells of posts that were repeated', () => {
    const posted = { ...state.posted, repeatedPosts: 2, maybeTwice: 500 };
    expect(renderView({ ...state, posted }).join('\n')).toContain('2 posts were repeated; 500 events of them may be kept twice');
    const one = { ...posted, repeatedPosts: 1, maybeTwice: 1 };
    expect(renderView({ ...state, posted: one }).join('\n')).toContain('1 post was repeated; 1 event of it may be kept twice');
  });

  it('says that data stay where a folder was named for them', () => {
    expect(renderView(state)[0]).toContain('Ctrl-C stops and removes everything');
    expect(renderView({ ...state, dataFolder: '/srv/data' })[0]).toContain('Ctrl-C stops everything; the data stay in /srv/data');
  });

  it('is one line where nothing can be drawn over', () => {
    expect(renderLine(state)).toBe(
      '1 min 15 s  accepted 12,300, 45 rejected, indexed 12,000, archived 11,000, lag: indexer 300, archiver 1,300',
    );
  });

  it('tells an address where nothing can be drawn when it is known, once, and again when it has changed', () => {
    const told = new Map<string, string>();
    expect(renderNewAddresses({ post: 'http://p', indexer: undefined }, told)).toEqual(['post: http://p']);
    expect(renderNewAddresses({ post: 'http://p', indexer: 'http://i' }, told)).toEqual(['indexer: http://i']);
    expect(renderNewAddresses({ post: 'http://p', indexer: undefined }, told)).toEqual([]);
    expect(renderNewAddresses({ post: 'http://p', indexer: 'http://j' }, told)).toEqual(['indexer: http://j']);
  });

  it('draws over its own last picture, and puts other lines above it', () => {
    const { paper, written } = sheet({ isTTY: true });
    const screen = new Screen(paper);
    screen.draw(['a', 'b']);
    screen.draw(['c', 'd', 'e']);
    screen.print('news');
    screen.draw(['f']);
    expect(written()).toBe('\r\u001b[Ka\nb\n\r\u001b[2A\u001b[Jc\nd\ne\n\r\u001b[3A\u001b[Jnews\n\r\u001b[Kf\n');
  });

  it('clears the ^C that the terminal puts where the cursor stands', () => {
    const { paper, written } = sheet({ isTTY: true });
    const screen = new Screen(paper);
    screen.draw(['tailrace']);
    paper.write('^C');
    screen.print('stopping');
    // The first column is taken before the row above, or the ^C would shield what stands there: "tastopping".
    expect(written()).toMatch(/\^C\r.\[1A.\[Jstopping\n$/);
  });

  it('counts the rows that a long line takes, and draws no more than the terminal holds', () => {
    const { paper, written } = sheet({ isTTY: true, columns: 10, rows: 4 });
    const screen = new Screen(paper);
    screen.draw(['x'.repeat(15), 'y', 'z']);
    screen.print('end');
    expect(written()).toBe(`\r\u001b[K${'x'.repeat(15)}\ny\n\r\u001b[3A\u001b[Jend\n`);
  });

  it('puts no cursor moves into a pipe', () => {
    const { paper, written } = sheet({});
    new Screen(paper).print('line');
    expect(written()).toBe('line\n');
  });

  it('shows where each service says how it is', () => {
    const text = renderView(state).join('\n');
    expect(text).toContain('health     http://127.0.0.1:2  ingest-gateway: /livez /readyz /metrics');
    expect(text).toContain('starting  indexer');
  });

  it('beside totals of earlier starts it says what is counted since when, and the last totals stay', () => {
    const text = renderView({ ...state, olderTotals: true }).join('\n');
    expect(text).toMatch(/accepted .* since this start, 50 a second/);
    expect(text).toMatch(/indexed .* in OpenSearch, earlier ones included/);
    expect(renderEnd(state)).toBe('ran 1 min 15 s; last seen: accepted 12,300, 45 rejected, indexed 12,000, archived 11,000');
    expect(renderEnd({ ...state, olderTotals: true })).toContain('accepted 12,300 since this start, 45 rejected, indexed 12,000 in all');
  });

  it('names rejected lines by their place in the file, and counts the others', () => {
    const named = [{ line: 7, reason: 'timestamp: is missing' }];
    expect(renderRejections('x.ndjson', state.posted, named)).toEqual([
      '45 events of x.ndjson were rejected:',
      '  line 7: timestamp: is missing',
      '  and 44 more',
    ]);
    expect(renderRejections('x.ndjson', { ...state.posted, rejected: 0 }, [])).toEqual([]);
  });
});

function sheet(terminal: Omit<Paper, 'write'>): { paper: Paper; written: () => string } {
  let text = '';
  return {
    paper: {
      ...terminal,
      write: (more) => {
        text += more;
      },
    },
    written: () => text,
  };
}

describe('alerts in the live view', () => {
  const alert = {
    status: 'firing',
    again: false,
    rule: 'errors-by-service',
    group: { service: 'web', region: null },
    severity: 'error',
    summary: 'web answers with errors',
    toldMs: Date.UTC(2026, 0, 1, 12),
    delayMs: 912,
  } as const;

  it('tell rule, group, severity, and how long it took from the broker’s time', () => {
    expect(renderAlert(alert)).toMatch(
      /^\d\d:\d\d:\d\d error errors-by-service service=web region=none: web answers with errors, told 0\.9 s after the broker had its last event$/,
    );
    expect(renderAlert({ ...alert, status: 'resolved' })).toMatch(
      / resolved errors-by-service service=web region=none: web answers with errors$/,
    );
    expect(renderAlert({ ...alert, delayMs: undefined })).toMatch(/: web answers with errors$/);
  });

  it('can not move the cursor by what a service calls itself', () => {
    expect(renderAlert({ ...alert, group: { service: '\u001b[2J' }, summary: 'a\nb' })).toContain('service=\\u{1b}[2J: a\\u{a}b');
  });

  it('are counted, and the latest three stand there', () => {
    expect(renderView(state).join('\n')).toContain('none told yet');
    const told = [1, 2, 3, 4].map((n) => ({ ...alert, rule: `rule-${n}` }));
    const text = renderView({ ...state, alerts: { fired: 1204, told } }).join('\n');
    for (const shown of ['1,204', 'rule-1', 'rule-2', 'rule-3']) expect(text).toContain(shown);
    expect(text).not.toContain('rule-4');
    expect(renderEnd({ ...state, alerts: { fired: 2, told } })).toMatch(/, alerts 2$/);
  });

  it('that fire on and are told once more are not shown as new ones', () => {
    expect(renderAlert({ ...alert, again: true })).toMatch(/^\d\d:\d\d:\d\d again error errors-by-service /);
    expect(renderAlert({ ...alert, again: true, status: 'resolved' })).toMatch(/^\d\d:\d\d:\d\d resolved errors-by-service /);
  });

  it('that others are told of are not shown as none: what fires, and what did not get through', () => {
    const rules = { refused: false, sentence: '5 rules hold' };
    const facts = { firing: 12, waiting: 48, untold: 3, rules };
    const of = (alerts: ViewState['progress']['alerts']): ViewState => ({
      ...state,
      alerts: undefined,
      progress: { ...state.progress, alerts },
    });
    const view = of({ facts, silentSeconds: 0 });
    const words = '12   firing now, 48 notifications wait, 3 refused or given up; ALERT_NOTIFIERS is told, the command below lists them';
    expect(renderView(view).join('\n')).toContain(words);
    expect(renderView(view).join('\n')).not.toContain('none told yet');
    expect(renderLine(view)).toContain(', alerts firing 12, 48 notifications wait, 3 refused or given up, lag');
    // A channel holds no more than that, and what waits beyond it is not counted.
    const bounded = of({ facts: { ...facts, waiting: 1000 }, silentSeconds: 0 });
    expect(renderLine(bounded)).toContain(', alerts firing 12, at least 1,000 notifications wait, 3 refused');
    const well = of({ facts: { ...facts, firing: 0, waiting: 0, untold: 0 }, silentSeconds: 0 });
    expect(renderLine(well)).toContain(', alerts firing 0, lag');
    expect(renderView(of({ facts, silentSeconds: 7 })).join('\n')).toContain('no answer for 7 s; ALERT_NOTIFIERS');
    expect(renderLine(of({ facts: undefined, silentSeconds: 0 }))).toContain(', alerts firing not known yet, lag');
  });
});

describe('rules in the live view', () => {
  const refused = {
    refused: true,
    sentence: 'The rules as they stand now are refused, and those from 2026-01-01T12:00:00.000Z hold: r.yaml:3:5: odd\n',
  };
  const held = (sentence: string) => ({ refused: false, sentence });

  it('that are refused are said to be so, with the time as the view tells time, and nothing there can move the cursor', () => {
    const facts = { firing: 0, waiting: 0, untold: 0, rules: refused };
    const urls = { rules: '/r', command: 'c' };
    const lines = renderView({ ...state, urls, progress: { ...state.progress, alerts: { facts, silentSeconds: 0 } } });
    const at = lines.findIndex((line) => line.startsWith('  rules '));
    expect(lines[at + 1]).toMatch(
      /^ {13}REFUSED: The rules as they stand now are refused, and those from \d\d:\d\d:\d\d hold: r\.yaml:3:5: odd\\u\{a\}$/,
    );
    expect(lines[at + 2]).toContain('command');
  });

  it('are told where nothing can be drawn when they are refused, when that is over, and when a change is taken over: once each', () => {
    const first = held('5 rules hold since 1.');
    expect(renderRulesNews(undefined, undefined)).toEqual([]);
    expect(renderRulesNews(undefined, first)).toEqual([]);
    expect(renderRulesNews(first, first)).toEqual([]);
    expect(renderRulesNews(first, held('6 rules hold since 2.'))).toEqual(['rules: 6 rules hold since 2.']);
    expect(renderRulesNews(first, refused)).toEqual([expect.stringMatching(/^rules: REFUSED: .*r\.yaml:3:5/)]);
    expect(renderRulesNews(undefined, refused)).toHaveLength(1);
    expect(renderRulesNews(refused, refused)).toEqual([]);
    expect(renderRulesNews(refused, first)).toEqual(['rules: no longer refused: 5 rules hold since 1.']);
  });
});
