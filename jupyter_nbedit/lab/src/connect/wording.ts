/** Texts of the page "Connect an Agent". */
import type { TranslationBundle } from '@jupyterlab/translation';
import { NbEditError } from '../server/client';
import type { EndpointInfo } from '../server/mcpClient';
import type { AgentClient, SetupStep } from '../server/models';
import { cleanName, cleanText } from '../ui/displayText';

/** Where an agent runs: on the machine of the server, or on another machine. */
export type Place = 'local' | 'remote';

/** Maximum length of a message of the server. */
const MAX_MESSAGE_LENGTH = 500;

/** Host names that mean the machine itself. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Return whether only programs on the machine of the browser reach a URL. */
export function isLoopback(url: string): boolean {
  return LOOPBACK.test(new URL(url).hostname);
}

/** Return what to do with the text of a step. */
export function describeStep(step: SetupStep, place: Place, trans: TranslationBundle): string {
  if (step.kind === 'command') {
    return place === 'local'
      ? trans.__('Type this in a terminal on the computer of the server:')
      : trans.__('Type this in a terminal on the computer of the agent:');
  }
  return step.write_command === null
    ? trans.__('Add this to the file %1, or make the file:', step.file)
    : trans.__('Or add this to the file yourself:');
}

/** Return what to do with the command that writes the file of a step. */
export function describeWriteCommand(step: SetupStep, trans: TranslationBundle): string {
  return trans.__(
    'Type this in a terminal on the computer of the server. It adds an entry to the file %1, and keeps what is there:',
    step.file
  );
}

/** Return what else to know of a step, and what happens next, one sentence or more in each line. */
export function describeNext(
  client: AgentClient,
  place: Place,
  tokenVariable: string,
  trans: TranslationBundle
): string[] {
  const { title } = client;
  const step = client[place];
  const lines = step.note === '' ? [] : [step.note];
  if (place === 'remote') {
    lines.push(
      trans.__(
        'This text has no token. %1 takes it from the environment variable %2, or asks for it.',
        title,
        tokenVariable
      )
    );
    if (step.starts_bridge) {
      lines.push(
        trans.__(
          '%1 starts the command jupyter-nbedit: install the Python package jupyter_nbedit on that computer, too.',
          title
        )
      );
    }
  }
  lines.push(
    place === 'local'
      ? trans.__('Then start %1, or start it again, in the folder of your notebooks.', title)
      : trans.__('Then start %1, or start it again.', title),
    trans.__('Ask it to change a notebook. You see each change at once, and you can undo it.')
  );
  return lines;
}

/** Describe an endpoint that answers. */
export function describeEndpoint(
  { name, version, protocolVersions, tools }: EndpointInfo,
  trans: TranslationBundle
): string {
  const program = cleanName(`${name} ${version}`);
  const [protocol] = protocolVersions;
  return trans._n(
    'It answers: %2, MCP %3, %1 tool: %4.',
    'It answers: %2, MCP %3, %1 tools: %4.',
    tools.length,
    program,
    cleanName(protocol ?? trans.__('without a version')),
    cleanText(tools.join(', '), MAX_MESSAGE_LENGTH)
  );
}

/** Describe why the test of an endpoint failed, and what to do. */
export function describeEndpointError(error: unknown, trans: TranslationBundle): string {
  if (!(error instanceof NbEditError)) {
    console.error('jupyter-nbedit:', error);
    return trans.__('An error occurred in the page; see the browser console.');
  }
  const message = cleanText(error.message, MAX_MESSAGE_LENGTH);
  switch (error.status) {
    case 0:
      return trans.__('The server does not answer. Start it again, and then test again.');
    case 401:
    case 403:
      return message === ''
        ? trans.__('The server refuses the request (HTTP %1). Log in again.', error.status)
        : trans.__('The server refuses the request (HTTP %1): %2', error.status, message);
    case 404:
    case 405:
      return trans.__(
        'The server has no MCP endpoint: its jupyter_nbedit is older than this page, or switched off. Update it in the environment of the server, and start the server again.'
      );
  }
  return message === ''
    ? trans.__(
        'The answer is not that of an MCP endpoint (HTTP %1). A proxy before the server may have sent it.',
        error.status
      )
    : trans.__('The endpoint answers with an error (HTTP %1): %2', error.status, message);
}
