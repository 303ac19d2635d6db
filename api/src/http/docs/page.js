// Shows /api/openapi.json. Everything is written as text, never as HTML.
const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const byId = (id) => document.getElementById(id)

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children)
  return node
}
const code = (text) => element('code', {}, text)

const LIMITS = {
  minLength: 'at least $ characters',
  maxLength: 'at most $ characters',
  minimum: 'from $',
  maximum: 'to $',
  minItems: 'at least $ items',
  maxItems: 'at most $ items',
  minProperties: 'at least $ members',
  pattern: 'matches $',
}

/** A schema in words, as nodes; shared schemas are links. */
function words(schema = {}) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1)
    return [element('a', { href: `#schema-${name}` }, name)]
  }
  if (schema.const !== undefined) return [code(JSON.stringify(schema.const))]
  if (schema.enum !== undefined) return separated(schema.enum.map((value) => [code(String(value))]))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...separated(choices.map(words)), ...rest(schema)]
  if (schema.allOf !== undefined) return words(schema.allOf[0])
  if (schema.type === 'array') return ['list of ', ...words(schema.items), ...rest(schema)]
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
    return ['object', properties(schema, 'Members')]
  return [schema.type ?? schema.format ?? 'anything', ...rest(schema)]
}

const separated = (choices) => choices.flatMap((nodes, at) => (at === 0 ? nodes : [' or ', ...nodes]))

function rest(schema) {
  const limits = Object.entries(LIMITS)
    .filter(([key]) => schema[key] !== undefined)
    .map(([key, text]) => text.replace('$', () => String(schema[key])))
  const format = schema.type !== undefined && schema.format !== undefined ? [schema.format] : []
  const fallback = schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]
  const said = [...format, ...limits, ...fallback]
  return said.length === 0 ? [] : [element('span', { class: 'quiet' }, ` (${said.join(', ')})`)]
}

function table(caption, heads, rows) {
  const cells = (name, values) =>
    element(
      'tr',
      {},
      ...values.map((value) =>
        element(name, name === 'th' ? { scope: 'col' } : {}, ...[value].flat().filter((part) => part !== '')),
      ),
    )
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, cells('th', heads)),
    element('tbody', {}, ...rows.map((row) => cells('td', row))),
  )
}

function properties(schema, caption) {
  const needed = new Set(schema.required ?? [])
  const rows = Object.entries(schema.properties).map(([name, member]) => [
    code(name),
    needed.has(name) ? 'yes' : 'no',
    words(member),
  ])
  return table(caption, ['Name', 'Required', 'Type'], rows)
}

/** Follows a reference into the document, one step. */
const resolved = (api, value) =>
  value?.$ref === undefined
    ? value
    : value.$ref
        .slice(2)
        .split('/')
        .reduce((place, key) => place[key], api)

function parametersTable(api, operation) {
  const rows = operation.parameters
    .map((parameter) => resolved(api, parameter))
    .map(({ name, in: place, required, schema, description = '' }) => [
      code(name),
      place,
      required === true ? 'yes' : 'no',
      [...words(schema), ...(description === '' ? [] : [element('br'), description])],
    ])
  return table('Parameters', ['Name', 'In', 'Required', 'Type'], rows)
}

function responsesTable(api, operation) {
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const { description, content = {} } = resolved(api, response)
    const bodies = Object.entries(content).map(([type, { schema }]) =>
      element('div', {}, code(type), ' ', ...words(schema)),
    )
    return [status, description.replaceAll('`', ''), bodies]
  })
  return table('Answers', ['Status', 'Meaning', 'Body'], rows)
}

function bodyPart({ requestBody }) {
  if (requestBody === undefined) return []
  const { schema } = requestBody.content['application/json']
  return [element('p', {}, 'Body: ', ...words(schema), '. ', requestBody.description)]
}

function access(operation) {
  const capability = operation['x-capability']
  const who = `For: ${operation['x-audience']}`
  return [who, ...(typeof capability === 'string' ? [', needs ', code(capability)] : []), '. '].concat(
    operation['x-internal-mode-only'] === true ? ['Not with sign-in by a proxy.'] : [],
  )
}

function operationPart(api, path, method, operation) {
  const { operationId, summary } = operation
  const inner = element(
    'div',
    {},
    element('p', {}, ...access(operation), element('a', { href: `#${operationId}` }, operationId)),
    parametersTable(api, operation),
    ...bodyPart(operation),
    responsesTable(api, operation),
  )
  const head = element(
    'summary',
    {},
    element('span', { class: 'method' }, method.toUpperCase()),
    ' ',
    code(path),
    ' ',
    element('span', { class: 'quiet' }, summary),
  )
  const part = element('details', { id: operationId }, head, inner)
  part.dataset.text =
    `${operationId} ${method} ${path} ${summary} ${operation['x-capability'] ?? ''}`.toLowerCase()
  return part
}

function schemaPart(name, schema) {
  const inner =
    schema.properties === undefined ? element('p', {}, ...words(schema)) : properties(schema, name)
  const part = element(
    'details',
    { id: `schema-${name}` },
    element('summary', {}, code(name)),
    element('div', {}, inner),
  )
  part.dataset.text = name.toLowerCase()
  return part
}

/** One area: its heading, its parts, and its list of contents. */
function addSection(title, parts) {
  const section = element('section', {}, element('h2', {}, title), ...parts)
  byId('operations').append(section)
  const links = parts.map(({ id }) =>
    element('li', {}, element('a', { href: `#${id}` }, id.replace('schema-', ''))),
  )
  byId('contents').append(element('section', {}, element('h2', {}, title), element('ul', {}, ...links)))
}

function show(api) {
  byId('version').textContent = api.info.version
  byId('about').textContent = api.info.description.replaceAll('`', '')
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => [path, method, item[method]]),
  )
  for (const { name } of api.tags) {
    const own = operations.filter(([, , { tags }]) => tags.includes(name))
    addSection(
      name,
      own.map((row) => operationPart(api, ...row)),
    )
  }
  const { schemas } = api.components
  addSection(
    'Schemas',
    Object.entries(schemas).map(([name, schema]) => schemaPart(name, schema)),
  )
}

const parts = () => [...document.querySelectorAll('main details')]

/** Leaves what holds every word that was typed. */
function filter() {
  const asked = byId('search').value.toLowerCase().split(/\s+/)
  for (const part of parts()) part.hidden = !asked.every((word) => part.dataset.text.includes(word))
  for (const link of document.querySelectorAll('nav li')) {
    const target = byId(link.firstChild.hash.slice(1))
    link.hidden = target?.hidden === true
  }
  for (const section of document.querySelectorAll('main section, nav section'))
    section.hidden = section.querySelector('details:not([hidden]), li:not([hidden])') === null
  const count = document.querySelectorAll('main details:not([hidden]):not([id^="schema-"])').length
  byId('count').textContent = count === 1 ? '1 operation' : `${count} operations`
}

/** Opens what the address names. */
function follow() {
  const part = byId(decodeURIComponent(location.hash.slice(1)))
  if (part?.tagName !== 'DETAILS') return
  if (part.hidden) clear()
  part.open = true
  part.querySelector('summary').focus({ preventScroll: true })
  part.scrollIntoView()
}

function clear() {
  byId('search').value = ''
  filter()
}

function step(by) {
  const visible = parts().filter((part) => !part.hidden)
  const at = visible.findIndex((part) => part.contains(document.activeElement))
  const to = at === -1 ? (by > 0 ? 0 : visible.length - 1) : at + by
  visible[to]?.querySelector('summary').focus()
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const typing = event.target === byId('search')
  if (event.key === 'Escape' && typing) clear()
  else if (typing) return
  else if (event.key === '/') {
    event.preventDefault()
    byId('search').focus()
  } else if (event.key === 'j') step(1)
  else if (event.key === 'k') step(-1)
}

/** Dark or light as the system has it, until somebody chooses. */
function setUpTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const root = document.documentElement
  const isDark = () => (root.dataset.theme ?? (dark.matches ? 'dark' : 'light')) === 'dark'
  const label = () => {
    byId('theme').textContent = isDark() ? 'Light' : 'Dark'
  }
  const kept = localStorage.getItem('theme')
  if (kept === 'dark' || kept === 'light') root.dataset.theme = kept
  byId('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    localStorage.setItem('theme', root.dataset.theme)
    label()
  })
  dark.addEventListener('change', label)
  label()
}

setUpTheme()
addEventListener('keydown', onKey)
addEventListener('hashchange', follow)
byId('search').addEventListener('input', filter)
try {
  const answer = await fetch('/api/openapi.json')
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  show(await answer.json())
  filter()
  follow()
} catch (error) {
  byId('count').textContent = `The document cannot be read: ${error.message}`
}
