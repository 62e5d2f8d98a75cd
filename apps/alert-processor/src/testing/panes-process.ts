import { type OpenPanesOptions, openPanes } from '../panes/open-panes.ts';
import { memberOptions, runMember } from './member-process.ts';
import { plainRule, ruleSet } from './plain-rules.ts';

/** What a member is told on its command line, as JSON. */
export interface PanesProcessOptions
  extends Pick<OpenPanesOptions, 'kafka' | 'group' | 'instanceId' | 'topics' | 'partialsTopic' | 'tickMs'> {
  readonly paneMs: number;
  readonly latenessMs: number;
}

/** Stage 1 as a process of its own, to be killed. */
const { paneMs, latenessMs, ...options } = JSON.parse(process.argv[2] ?? '{}') as PanesProcessOptions;
const panes = await openPanes({
  ...options,
  ...memberOptions('panes-process'),
  rules: { current: ruleSet([plainRule()], { paneMs, latenessMs }), onChange: () => {} },
  onRetry: () => {},
  onPublished: () => {},
});
await runMember(panes);
