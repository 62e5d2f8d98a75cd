import { describe, expect, it } from 'vitest';
import { renderLine, renderView, Screen, type ViewState } from './live-view.ts';

const state: ViewState = {
  upSeconds: 75,
  dataFolder: undefined,
  posted: { posted: 12_345, accepted: 12_300, rejected: 45, repeatedPosts: 0, maybeTwice: 0 },
  progress: {
    indexed: 12_000,
    archived: undefined,
    lag: new Map([
      ['indexer', 300],
      ['archiver', undefined],
    ]),
  },
  acceptedPerSecond: 49.6,
  urls: { post: 'http://127.0.0.1:1/v1/events', search: undefined },
};

describe('the live view', () => {
  it('shows what arrived where, and says of a server that is away that it gives no answer', () => {
    const text = renderView(state).join('\n');
    for (const shown of [
      '12,300',
      '50 a second, 45 rejected',
      '12,000',
      'indexer 300 · archiver no answer',
      'up 1 min 15 s',
      'search     starting',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toMatch(/archived +no answer/);
    expect(text).not.toContain('repeated');
  });

  it('tells of posts that were repeated', () => {
    const posted = { ...state.posted, repeatedPosts: 2, maybeTwice: 500 };
    expect(renderView({ ...state, posted }).join('\n')).toContain('2 posts were repeated; 500 events of them may be kept twice');
  });

  it('says that data stay where a folder was named for them', () => {
    expect(renderView(state)[0]).toContain('Ctrl-C stops and removes everything');
    expect(renderView({ ...state, dataFolder: '/srv/data' })[0]).toContain('Ctrl-C stops everything; the data stay in /srv/data');
  });

  it('is one line where nothing can be drawn over', () => {
    expect(renderLine(state)).toBe('1 min 15 s  accepted 12,300, indexed 12,000, archived no answer, lag: indexer 300, archiver no answer');
  });

  it('draws over its own last picture, and puts other lines above it', () => {
    let written = '';
    const screen = new Screen((text) => {
      written += text;
    });
    screen.draw(['a', 'b']);
    screen.draw(['c', 'd', 'e']);
    screen.print('news');
    screen.draw(['f']);
    expect(written).toBe('a\nb\n\u001b[2A\u001b[Jc\nd\ne\n\u001b[3A\u001b[Jnews\nf\n');
  });
});
