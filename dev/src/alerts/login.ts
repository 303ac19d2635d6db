import { guessedUser, outsider, user } from './cast.ts'
import { syslog } from './scene.ts'
import type { Kind, Scene } from './scene.ts'

const GUESSING = { id: ['T1110.001'], tactic: ['Credential Access'], technique: ['Password Guessing'] }
const AUTH_LOG = '/var/log/auth.log'

function failedLogin(scene: Scene, name: string, known: boolean) {
  const { random } = scene
  const [srcip, srcport] = [outsider(random), String(random.whole(20_000, 60_000))]
  const who = known ? name : `invalid user ${name}`
  const text = `Failed password for ${who} from ${srcip} port ${srcport} ssh2`
  return { ...syslog(scene, 'sshd', text), data: { srcip, srcport, srcuser: name } }
}

const sudo = (scene: Scene, command: string) => {
  const name = user(scene.random)
  const text = `${name} : TTY=pts/0 ; PWD=/home/${name} ; USER=root ; COMMAND=${command}`
  return { ...syslog(scene, 'sudo', text), data: { srcuser: name, dstuser: 'root', command, tty: 'pts/0' } }
}

export const LOGIN_KINDS: readonly Kind[] = [
  {
    weight: 14,
    os: 'linux',
    decoder: 'sshd',
    location: AUTH_LOG,
    rule: {
      id: '100110',
      level: 5,
      description: 'A login over SSH was tried with a user name that does not exist',
      groups: ['syslog', 'sshd', 'invalid_login', 'authentication_failed'],
      mitre: GUESSING,
    },
    find: (scene) => failedLogin(scene, guessedUser(scene.random), false),
  },
  {
    weight: 8,
    os: 'linux',
    decoder: 'sshd',
    location: AUTH_LOG,
    rule: {
      id: '100111',
      level: 5,
      description: 'A login over SSH failed because of a wrong password',
      groups: ['syslog', 'sshd', 'authentication_failed'],
    },
    find: (scene) => failedLogin(scene, user(scene.random), true),
  },
  {
    weight: 4,
    os: 'linux',
    decoder: 'sshd',
    location: AUTH_LOG,
    rule: {
      id: '100112',
      level: 10,
      description: 'Many failed logins over SSH from the same address: somebody guesses passwords',
      groups: ['syslog', 'sshd', 'authentication_failures'],
      mitre: GUESSING,
    },
    find: (scene) => failedLogin(scene, 'root', true),
  },
  {
    weight: 1,
    os: 'linux',
    decoder: 'sshd',
    location: AUTH_LOG,
    rule: {
      id: '100113',
      level: 12,
      description: 'A login over SSH succeeded from an address that had guessed passwords before',
      groups: ['syslog', 'sshd', 'authentication_success', 'attack'],
      mitre: {
        id: ['T1110', 'T1078'],
        tactic: ['Credential Access', 'Initial Access'],
        technique: ['Brute Force', 'Valid Accounts'],
      },
    },
    find: (scene) => {
      const [srcip, dstuser] = [outsider(scene.random), user(scene.random)]
      const text = `Accepted password for ${dstuser} from ${srcip} port 50022 ssh2`
      return { ...syslog(scene, 'sshd', text), data: { srcip, dstuser } }
    },
  },
  {
    weight: 10,
    os: 'linux',
    decoder: 'pam',
    location: AUTH_LOG,
    rule: {
      id: '100120',
      level: 3,
      description: 'A session was opened',
      groups: ['syslog', 'pam', 'authentication_success'],
    },
    find: (scene) => {
      const dstuser = user(scene.random)
      const text = `pam_unix(sshd:session): session opened for user ${dstuser} by (uid=0)`
      return { ...syslog(scene, 'sshd', text), data: { dstuser, uid: '0' } }
    },
  },
  {
    weight: 6,
    os: 'linux',
    decoder: 'sudo',
    location: AUTH_LOG,
    rule: {
      id: '100130',
      level: 3,
      description: 'A command was run as root through sudo',
      groups: ['syslog', 'sudo'],
      mitre: {
        id: ['T1548.003'],
        tactic: ['Privilege Escalation'],
        technique: ['Sudo and Sudo Caching'],
      },
    },
    find: (scene) =>
      sudo(
        scene,
        scene.random.pick(['/usr/bin/apt-get update', '/usr/bin/systemctl restart nginx', '/bin/bash']),
      ),
  },
  {
    weight: 1,
    os: 'linux',
    decoder: 'sudo',
    location: AUTH_LOG,
    rule: {
      id: '100131',
      level: 9,
      description: 'A user outside the sudoers tried to become root three times',
      groups: ['syslog', 'sudo', 'authentication_failed'],
    },
    find: (scene) => sudo(scene, '/usr/bin/cat /etc/shadow'),
  },
]
