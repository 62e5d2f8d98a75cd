import { caseShape } from '../simulate/case-keys.ts';
import { fileKeys } from './rule-keys.ts';
import { map } from './shapes.ts';

/** Where editors find it: the file in docs/reference. */
export const SCHEMA_FILE = 'rules.schema.json';

/** JSON Schema of a rules file and of a file of test cases, for editors: what a value may be, and what it means. What keys are to each other only `rules check` knows. */
export function rulesSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tailrace rules',
    description: 'Rules of the alert processor, silences, and test cases.',
    ...map({ ...fileKeys, cases: { ...fileKeys.cases, shape: caseShape } }, 'a rules file').schema,
  };
}
