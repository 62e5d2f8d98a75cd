import { describe, expect, it } from 'vitest';
import { type FoundIndex, judgeIndex } from './index-finding.ts';
import { fieldMappings } from './template.ts';

const NAME = 'e-2026.01.31';
const WRITE = `${NAME}-write`;
const CANDIDATE = `${WRITE}-1`;
const ours = {
  aliases: { e: {}, [WRITE]: { is_hidden: true } },
  mappings: { _meta: { event_version: '1.0' }, dynamic: 'false', properties: fieldMappings },
  settings: { 'index.translog.durability': 'REQUEST', 'index.number_of_shards': '1' },
} satisfies FoundIndex;
const judge = (found: FoundIndex, others: Readonly<Record<string, FoundIndex>> = {}) =>
  judgeIndex(NAME, 'e', CANDIDATE, { [NAME]: found, ...others });
const withMapping = (mappings: object) => judge({ ...ours, mappings: { ...ours.mappings, ...mappings } });
const withField = (field: string, mapping: object) => withMapping({ properties: { ...fieldMappings, [field]: mapping } });
const { service: _, ...withoutService } = fieldMappings;

describe('an index', () => {
  it('is ours by mapping, settings and aliases, also when a newer version has added a field', () => {
    expect(judge(ours)).toEqual({ kind: 'ours' });
    expect(withField('added_later', { type: 'keyword' })).toEqual({ kind: 'ours' });
    expect(judgeIndex(NAME, 'e', CANDIDATE, {})).toEqual({ kind: 'missing' });
  });

  it.each<[string, Readonly<Record<string, object>>, readonly string[]]>([
    ['no alias at all', {}, ['e', CANDIDATE]],
    ['no write alias', { e: {} }, [CANDIDATE]],
    ['an alias with a filter, which hides documents', { ...ours.aliases, e: { filter: { term: { service: 'web' } } } }, ['e']],
    ['a write alias with a routing, which would write a document twice', { ...ours.aliases, [WRITE]: { index_routing: '1' } }, [CANDIDATE]],
  ])('with %s gets it', (_name, aliases, added) => {
    const finding = judge({ ...ours, aliases });
    expect(finding).toMatchObject({ kind: 'incomplete', fields: {} });
    expect('aliases' in finding && finding.aliases.map((action) => ('add' in action ? action.add.alias : action))).toEqual(added);
  });

  it('that was made before a field was added to the table gets the field, when it bears our mark', () => {
    expect(withMapping({ properties: withoutService })).toEqual({
      kind: 'incomplete',
      aliases: [],
      fields: { service: { type: 'keyword' } },
    });
    expect(withMapping({ properties: withoutService, _meta: undefined })).toMatchObject({ kind: 'foreign' });
  });

  it('gets the write alias in exchange for the alias that was set before the look, and for no other', () => {
    const [add, hidden] = [{ index: NAME, alias: WRITE, is_hidden: true }, { is_hidden: true }];
    expect(judge({ ...ours, aliases: { e: {}, [CANDIDATE]: hidden } })).toEqual({
      kind: 'incomplete',
      fields: {},
      aliases: [{ remove: { index: NAME, alias: CANDIDATE, must_exist: true } }, { add }],
    });
    const other = `${WRITE}-2`;
    expect(judge({ ...ours, aliases: { e: {}, [other]: hidden } })).toMatchObject({ aliases: [{ add: { alias: CANDIDATE } }] });
    expect(judge({ ...ours, aliases: { ...ours.aliases, [other]: hidden } })).toMatchObject({ aliases: [{ remove: { alias: other } }] });
  });

  it('loses our write alias when it is another one that was found under it', () => {
    const remove = { remove: { index: 'copy', alias: WRITE } };
    expect(judge(ours, { copy: {} })).toEqual({ kind: 'incomplete', aliases: [remove], fields: {} });
    expect(judgeIndex(NAME, 'e', CANDIDATE, { copy: {} })).toEqual({ kind: 'incomplete', aliases: [remove], fields: {} });
  });

  it.each<[string, FoundIndex, string]>([
    ['guesses its mapping', { aliases: ours.aliases }, 'its mapping is dynamic: true instead of false'],
    ['is strict', { ...ours, mappings: { ...ours.mappings, dynamic: 'strict' } }, 'its mapping is dynamic: strict instead of false'],
    [
      'has a field of another type',
      { ...ours, mappings: { ...ours.mappings, properties: { ...fieldMappings, service: { type: 'text' } } } },
      'its field service is mapped as {"type":"text"} instead of {"type":"keyword"}',
    ],
    [
      'has a field with another parameter',
      { ...ours, mappings: { ...ours.mappings, properties: { ...fieldMappings, service: { type: 'keyword', index: false } } } },
      'its field service is mapped as',
    ],
    [
      'would refuse what is kept as text',
      { ...ours, mappings: { ...ours.mappings, properties: { ...fieldMappings, event_raw: { type: 'integer' } } } },
      'its mapping has the field event_raw',
    ],
    [
      'keeps no source',
      { ...ours, mappings: Object.assign({}, ours.mappings, { _source: { enabled: false } }) },
      'its mapping sets _source',
    ],
    [
      'answers before it is on disk',
      { ...ours, settings: { 'index.translog.durability': 'async' } },
      'its setting index.translog.durability is async instead of request',
    ],
    ['has a pipeline', { ...ours, settings: { 'index.final_pipeline': 'p' } }, 'its setting index.final_pipeline is p instead of _none'],
    [
      'leaves out bad values',
      { ...ours, settings: { 'index.mapping.ignore_malformed': 'true' } },
      'its setting index.mapping.ignore_malformed is true instead of false',
    ],
  ])('that %s is foreign, and nobody may write into it', (_name, found, what) => {
    expect(judge({ ...found, aliases: ours.aliases })).toEqual({
      kind: 'foreign',
      what: expect.stringContaining(what),
      aliases: [{ remove: { index: NAME, alias: WRITE } }],
    });
  });
});
