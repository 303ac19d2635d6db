import { outsider } from './cast.ts'
import type { Kind, Scene } from './scene.ts'

const LOCATION = '/var/log/nginx/access.log'
const EXPLOIT = {
  id: ['T1190'],
  tactic: ['Initial Access'],
  technique: ['Exploit Public-Facing Application'],
}

function request({ random, at }: Scene, url: string, status: number, method = 'GET') {
  const srcip = outsider(random)
  const day = at.toUTCString().slice(5, 16).replaceAll(' ', '/')
  const time = `${day}:${at.toISOString().slice(11, 19)} +0000`
  const client = random.pick(['Mozilla/5.0 (X11; Linux x86_64)', 'curl/8.5.0', 'scan-o-matic/1.4'])
  return {
    full_log: `${srcip} - - [${time}] "${method} ${url} HTTP/1.1" ${status} ${random.whole(120, 9_000)} "-" "${client}"`,
    data: { protocol: method, srcip, id: String(status), url },
  }
}

const web = (
  rule: Omit<Kind['rule'], 'groups'> & { readonly groups?: readonly string[] },
  weight: number,
  find: Kind['find'],
): Kind => ({
  weight,
  os: 'linux',
  decoder: 'web-accesslog',
  location: LOCATION,
  rule: { ...rule, groups: ['web', 'accesslog', ...(rule.groups ?? ['attack'])] },
  find,
})

export const WEB_KINDS: readonly Kind[] = [
  web(
    { id: '100210', level: 5, description: 'The web server refused a request', groups: ['attack'] },
    12,
    (scene) =>
      request(
        scene,
        scene.random.pick(['/wp-login.php', '/.git/config', '/phpmyadmin/', '/backup.zip']),
        404,
      ),
  ),
  web(
    {
      id: '100211',
      level: 10,
      description: 'Many refused requests from the same address: a scanner is at work',
      groups: ['web_scan', 'recon'],
      mitre: { id: ['T1595.002'], tactic: ['Reconnaissance'], technique: ['Vulnerability Scanning'] },
    },
    3,
    (scene) => request(scene, `/${scene.random.hex(6)}.asp`, 404),
  ),
  web(
    {
      id: '100212',
      level: 7,
      description: 'A request carries what looks like SQL injection',
      groups: ['attack', 'sql_injection'],
      mitre: EXPLOIT,
    },
    4,
    (scene) => request(scene, `/products?id=${scene.random.whole(1, 99)}%27%20OR%201=1--`, 403),
  ),
  web(
    {
      id: '100213',
      level: 6,
      description: 'A request carries what looks like cross-site scripting',
      mitre: { id: ['T1059.007'], tactic: ['Execution'], technique: ['JavaScript'] },
    },
    4,
    (scene) => request(scene, '/search?q=%3Cscript%3Ealert(1)%3C/script%3E', 400),
  ),
  web(
    {
      id: '100214',
      level: 6,
      description: 'A request tries to leave the folder of the web server',
      mitre: EXPLOIT,
    },
    3,
    (scene) => request(scene, '/static/..%2f..%2f..%2fetc/passwd', 400),
  ),
  web(
    {
      id: '100215',
      level: 14,
      description: 'A web attack was answered with success',
      mitre: EXPLOIT,
    },
    1,
    (scene) => request(scene, `/uploads/${scene.random.hex(8)}.php?cmd=id`, 200, 'POST'),
  ),
  web(
    { id: '100216', level: 1, description: 'The web server answered slowly', groups: ['performance'] },
    2,
    (scene) => request(scene, '/reports/yearly', 200),
  ),
  web(
    { id: '100217', level: 4, description: 'The web server failed on a request', groups: ['errors'] },
    2,
    (scene) => request(scene, '/checkout', 500, 'POST'),
  ),
]
