import { isCandidateAlias, writeAliasOf } from './index-names.ts';
import { fieldMappings, type IndexMeta, keepingSettings, unmappedMembers } from './template.ts';

/** What `GET /<index>,<write alias>` shows of one index, with flat settings. */
export interface FoundIndex {
  readonly aliases?: Readonly<Record<string, object>>;
  readonly mappings?: {
    readonly dynamic?: unknown;
    readonly properties?: Readonly<Record<string, object>>;
    readonly _meta?: IndexMeta;
  };
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** One action of a request to `/_aliases`. */
export type AliasAction =
  | { readonly add: { readonly index: string; readonly alias: string; readonly is_hidden?: true } }
  | { readonly remove: { readonly index: string; readonly alias: string; readonly must_exist?: true } };

/** How an index of ours is found. */
export type Finding =
  | { readonly kind: 'ours' }
  | { readonly kind: 'missing' }
  /** Ours, and what is missing can be added without harm. */
  | { readonly kind: 'incomplete'; readonly aliases: readonly AliasAction[]; readonly fields: Readonly<Record<string, object>> }
  /** Not what we write into. `what` says why; the aliases are taken away, so that nobody writes into it. */
  | { readonly kind: 'foreign'; readonly what: string; readonly aliases: readonly AliasAction[] };

/** Parameters of a mapping that change nothing for documents whose fields are all mapped, or where nothing is dynamic. */
const HARMLESS = new Set([
  '_meta',
  'dynamic',
  'properties',
  'dynamic_templates',
  'dynamic_date_formats',
  'date_detection',
  'numeric_detection',
]);

/**
 * Whether an index is what the indexer makes under this name and alias. More fields than ours are well: a newer version has added
 * them. `candidate`: the alias that was set before this look, or is to be set before the next.
 */
export function judgeIndex(name: string, alias: string, candidate: string, found: Readonly<Record<string, FoundIndex>>): Finding {
  const writeAlias = writeAliasOf(name);
  // As a copy that is restored from a snapshot under another name brings it along: OpenSearch would not know where to write.
  const strays: AliasAction[] = Object.keys(found)
    .filter((index) => index !== name)
    .map((index) => ({ remove: { index, alias: writeAlias } }));
  const index = found[name];
  if (index === undefined) return strays.length === 0 ? { kind: 'missing' } : { kind: 'incomplete', aliases: strays, fields: {} };
  const own = index.aliases ?? {};
  const what = foreignMapping(index) ?? foreignSetting(index);
  if (what !== undefined) {
    const licences = Object.keys(own).filter((found) => found === writeAlias || isCandidateAlias(found, name));
    return { kind: 'foreign', what, aliases: [...strays, ...licences.map((licence) => ({ remove: { index: name, alias: licence } }))] };
  }
  const fields = Object.fromEntries(Object.entries(fieldMappings).filter(([field]) => !(field in (index.mappings?.properties ?? {}))));
  const aliases = [...strays];
  // An alias with a filter or a routing hides documents, or writes them elsewhere: to add it anew replaces it.
  if (!isSame(own[alias], {})) aliases.push({ add: { index: name, alias } });
  if (isSame(own[writeAlias], { is_hidden: true })) {
    // Left by whoever was ended in between.
    for (const left of Object.keys(own)) if (isCandidateAlias(left, name)) aliases.push({ remove: { index: name, alias: left } });
  } else if (candidate in own) {
    aliases.push({ remove: { index: name, alias: candidate, must_exist: true } });
    aliases.push({ add: { index: name, alias: writeAlias, is_hidden: true } });
  } else aliases.push({ add: { index: name, alias: candidate, is_hidden: true } });
  if (aliases.length === 0 && Object.keys(fields).length === 0) return { kind: 'ours' };
  return { kind: 'incomplete', aliases, fields };
}

function foreignMapping({ mappings = {} }: FoundIndex): string | undefined {
  if (String(mappings.dynamic) !== 'false') return `its mapping is dynamic: ${String(mappings.dynamic ?? true)} instead of false`;
  const parameter = Object.keys(mappings).find((key) => !HARMLESS.has(key));
  if (parameter !== undefined) return `its mapping sets ${parameter}`;
  const { properties = {} } = mappings;
  for (const [field, wanted] of Object.entries(fieldMappings)) {
    const own = properties[field];
    if (own === undefined) {
      // An index that we made before the field was added to the table bears our mark, and takes the field.
      if (mappings._meta?.event_version === undefined) return `its mapping lacks the field ${field}`;
    } else if (!isSame(own, wanted)) return `its field ${field} is mapped as ${JSON.stringify(own)} instead of ${JSON.stringify(wanted)}`;
  }
  const member = unmappedMembers.find((name) => name in properties);
  return member === undefined ? undefined : `its mapping has the field ${member}`;
}

function foreignSetting({ settings = {} }: FoundIndex): string | undefined {
  for (const [setting, wanted] of Object.entries(keepingSettings)) {
    const own = String(settings[setting] ?? wanted);
    if (own.toLowerCase() !== wanted) return `its setting ${setting} is ${own} instead of ${wanted}`;
  }
  return undefined;
}

/** Whether two pieces of JSON say the same: OpenSearch gives members in its own order, and numbers and booleans also as text. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return String(one) === String(other);
  const members = Object.entries(one);
  return (
    members.length === Object.keys(other).length &&
    members.every(([key, value]) => key in other && isSame(value, (other as Readonly<Record<string, unknown>>)[key]))
  );
}
