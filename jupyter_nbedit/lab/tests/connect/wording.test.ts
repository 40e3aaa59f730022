import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import {
  describeEndpoint,
  describeEndpointError,
  describeNext,
  describeStep,
  describeWriteCommand,
  isLoopback
} from '../../src/connect/wording';
import { NbEditError } from '../../src/server/client';
import type { AgentClient, SetupStep } from '../../src/server/models';

const trans = nullTranslator.load('jupyter_nbedit');

const STEP: SetupStep = {
  kind: 'command',
  text: 'zed mcp add',
  file: '~/.zed.json',
  write_command: null,
  starts_bridge: true,
  note: '',
  link: ''
};
const CLIENT: AgentClient = {
  id: 'zed',
  title: 'Zed',
  local: { ...STEP, note: 'Zed asks first.' },
  remote: { ...STEP, starts_bridge: false }
};

test.each([
  ['http://localhost:8888/nbedit/mcp', true],
  ['http://a.localhost:8888/', true],
  ['http://127.0.1.1/nbedit/mcp', true],
  ['http://[::1]:8888/', true],
  ['https://hub.example.org/user/a/', false],
  ['http://127.0.0.1.example.org/', false],
  ['http://192.168.0.2:8888/', false]
])('%s works only on this computer: %s', (url, expected) => {
  expect(isLoopback(url)).toBe(expected);
});

test('a step names the file, or the computer on which the command is typed', () => {
  expect(describeStep(STEP, 'local', trans)).toContain('computer of the server');
  expect(describeStep(STEP, 'remote', trans)).toContain('computer of the agent');
  const file: SetupStep = { ...STEP, kind: 'file' };
  expect(describeStep(file, 'remote', trans)).toContain('~/.zed.json');
  const written = { ...file, write_command: 'setup zed --write' };
  expect(describeStep(written, 'local', trans)).toBe('Or add this to the file yourself:');
  expect(describeWriteCommand(written, trans)).toContain('~/.zed.json');
});

test('what follows has the note, and for another computer the token and the package', () => {
  const start = expect.stringContaining('Then start Zed') as string;
  const ask = expect.stringContaining('Ask it to change a notebook') as string;
  const token = expect.stringContaining('environment variable JUPYTER_TOKEN') as string;
  const install = expect.stringContaining('install the Python package') as string;
  expect(describeNext(CLIENT, 'local', 'JUPYTER_TOKEN', trans)).toEqual([
    'Zed asks first.',
    start,
    ask
  ]);
  expect(describeNext(CLIENT, 'remote', 'JUPYTER_TOKEN', trans)).toEqual([token, start, ask]);
  const withBridge = { ...CLIENT, remote: STEP };
  expect(describeNext(withBridge, 'remote', 'JUPYTER_TOKEN', trans)).toEqual([
    token,
    install,
    start,
    ask
  ]);
});

test('an endpoint that answers is described with its tools', () => {
  const info = {
    name: 'jupyter_nbedit',
    version: '0.1.0',
    protocolVersions: ['2026-07-28', '2025-11-25'],
    tools: ['notebook_read', 'notebook_edit']
  };
  expect(describeEndpoint(info, trans)).toBe(
    'It answers: jupyter_nbedit 0.1.0, MCP 2026-07-28, 2 tools: notebook_read, notebook_edit.'
  );
});

test.each([
  [0, '', 'does not answer'],
  [401, '', 'Log in again'],
  [403, 'You may not read.', 'refuses the request (HTTP 403): You may not read.'],
  [404, '', 'no MCP endpoint'],
  [405, 'not allowed', 'no MCP endpoint'],
  [400, 'unknown version', 'answers with an error (HTTP 400): unknown version'],
  [502, '', 'A proxy']
])('a failed test with HTTP %i says what to do', (status, message, expected) => {
  expect(describeEndpointError(new NbEditError(status, '', message), trans)).toContain(expected);
});
