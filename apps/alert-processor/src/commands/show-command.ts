import { TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, printable } from '@tailrace/service';
import type { AlertState } from '../decide/alert-state.ts';
import { incidentKey } from '../decide/subject.ts';
import { didYouMean } from '../rules/did-you-mean.ts';
import { groupPairs } from '../rules/group-words.ts';
import { alertJson, alertPage, groupOf, inOrder } from './alert-view.ts';
import { type AlertTopics, withAlerts } from './alerts-kafka.ts';
import { EXIT, type Ports } from './ports.ts';

/** `alerts show`: one alert whole, by its rule and group, or by its incident. */
export async function showCommand(
  what: string,
  group: readonly string[],
  json: boolean,
  ports: Ports,
  topics: AlertTopics,
): Promise<number> {
  const { alerts } = await withAlerts(ports, topics, (kafka) => kafka.states());
  const [state, ...more] = inOrder(matching(alerts, what, group));
  if (state === undefined) throw new ConfigError([nothing(alerts, what, group)]);
  if (more.length > 0) {
    throw new ConfigError([`${what} has ${more.length + 1} alerts: name the group of one, like ${groupsOf([state, ...more])}.`]);
  }
  if (json)
    ports.out(`${JSON.stringify({ ...alertJson(state, ports.nowMs()), notification: state.transitions.at(-1)?.notification ?? null })}\n`);
  else ports.out(`${alertPage(state, ports.nowMs()).join('\n')}\n`);
  return EXIT.good;
}

/** `what` is an incident (or a key that begins with one), or a rule, whose alerts `group` narrows by NAME=VALUE. */
export function matching(alerts: readonly AlertState[], what: string, group: readonly string[]): readonly AlertState[] {
  if (what.includes('/'))
    return alerts.filter(({ rule, group: text, episodeMs }) => {
      const incident = incidentKey(rule, text, episodeMs);
      return what === incident || what.startsWith(`${incident}/`);
    });
  return alerts.filter((state) => {
    if (state.rule !== what) return false;
    const words = groupPairs(groupOf(state));
    return group.every((wanted) => words.includes(wanted) || state.group === wanted);
  });
}

/** A few of the groups, as they are typed in a shell. What is in them comes from events: nothing of it reaches a terminal as a control. */
function groupsOf(states: readonly AlertState[]): string {
  return states
    .slice(0, 10)
    .map((each) => printable(groupPairs(groupOf(each)).map(quoted).join(' ')) || '(no group)')
    .join(' | ');
}

/** One word for a shell, whatever is in it. */
function quoted(pair: string): string {
  return /^[\w=.,:/@%+-]+$/.test(pair) ? pair : `'${pair.replaceAll("'", "'\\''")}'`;
}

/** Why there is nothing to show, and what there is. */
export function nothing(alerts: readonly AlertState[], what: string, group: readonly string[]): string {
  const all = `${TAILRACE} alerts ls --all shows them all`;
  if (what.includes('/')) return `There is no incident ${what}: only the last one of each alert is kept, and ${all}.`;
  const ofRule = inOrder(alerts.filter(({ rule }) => rule === what));
  if (ofRule.length > 0) return `${what} has no alert of ${group.join(' ')}: it has ${groupsOf(ofRule)}; ${all}.`;
  const rules = [...new Set(alerts.map(({ rule }) => rule))].sort();
  const known = rules.length === 0 ? 'no rule has fired yet' : `these have fired: ${rules.slice(0, 20).join(', ')}`;
  return `There is no alert of ${what}${didYouMean(what, rules)} (${known}): ${all}.`;
}
