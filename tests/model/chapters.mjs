// The tables of the chapters in spec/, as they stand there.

import { readFileSync } from 'node:fs';

const chapter = (name) => readFileSync(new URL(`../../spec/${name}`, import.meta.url), 'utf8');

const cellsOf = (row) => row.split('|').slice(1, -1).map((cell) => cell.trim());

// The rows below the head of the first table whose head has these cells.
function table(name, ...headCells) {
  const lines = chapter(name).split('\n');
  const top = lines.findIndex((line) => line.startsWith('|') && headCells.every((cell, i) => cellsOf(line)[i] === cell));
  if (top < 0) throw new Error(`spec/${name} has no table with ${headCells.join(', ')}`);
  const rows = [];
  for (let i = top + 2; lines[i].startsWith('|'); i++) rows.push(cellsOf(lines[i]));
  return rows;
}

// Number of each kind → its name.
export const KIND_NAMES = new Map(table('ops.md', 'kind', 'name').flatMap((cells) => {
  const pairs = [];
  for (let i = 0; i < cells.length; i += 2) if (cells[i] !== '') pairs.push([Number(cells[i]), cells[i + 1]]);
  return pairs;
}));

// Name of each kind → the fields of its payload: [{name, type, optional}].
export const FIELDS = new Map(table('ops.md', 'kind', 'fields').map(([kind, fields]) => (
  [kind, [...fields.matchAll(/`(\w+)(\??)` (\w+)/g)].map(([, name, mark, type]) => ({ name, type, optional: mark === '?' }))]
)));

// Name of each kind that has a target → the field that names it.
export const TARGET_FIELDS = new Map(table('nodes.md', 'kind', 'name', 'needs', 'command', 'target')
  .filter((cells) => cells[4] !== '')
  .map((cells) => [cells[1], cells[4].replaceAll('`', '')]));

// Name of each machine → its moves: [{from, event, to, guards}]; `from` is [*] where the machine begins.
function machines(name) {
  const blocks = chapter(name).matchAll(/<!-- meshlog fsm (\w+) --format mermaid -->\n```mermaid\n([^`]*)```/g);
  return [...blocks].map(([, machine, diagram]) => [machine,
    [...diagram.matchAll(/^ *(\S+) --> (\S+): (\w+)(?: \[(.*)\])?$/gm)].map(([, from, to, event, guards]) => (
      { from, event, to, guards: guards === undefined ? [] : guards.split(' and ') }))]);
}

export const MACHINES = new Map([...machines('claims.md'), ...machines('jobs.md')]);
