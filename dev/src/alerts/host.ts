import { syslog } from './scene.ts'
import type { Kind, Scene } from './scene.ts'

function changedFile(scene: Scene, event: 'modified' | 'added' | 'deleted', path: string) {
  const { random, at } = scene
  const hashes = {
    md5_after: random.hex(32),
    sha1_after: random.hex(40),
    sha256_after: random.hex(64),
  }
  return {
    full_log: `File '${path}' ${event}\nMode: realtime\nChanged attributes: size, mtime, md5, sha1, sha256\n`,
    syscheck: {
      path,
      event,
      mode: 'realtime',
      uname_after: 'root',
      size_after: String(random.whole(100, 90_000)),
      mtime_after: at.toISOString().slice(0, 19),
      ...(event === 'deleted' ? {} : hashes),
      ...(event === 'modified' ? { sha256_before: random.hex(64) } : {}),
    },
  }
}

const vulnerable = (scene: Scene, severity: string) => {
  const { random, agent } = scene
  const [name, version] = random.pick<readonly [string, string]>([
    ['openssl', '3.0.11-1'],
    ['libxml2', '2.9.14'],
    ['sudo', '1.9.13p3-1'],
    ['nginx', '1.22.1-9'],
  ])
  const cve = `CVE-${random.whole(2023, 2026)}-${random.whole(10_000, 49_999)}`
  return {
    full_log: `${cve} affects ${name} ${version} on ${agent.name}`,
    data: { vulnerability: { cve, severity, status: 'Active', package: { name, version } } },
  }
}

export const HOST_KINDS: readonly Kind[] = [
  {
    weight: 8,
    os: 'linux',
    decoder: 'syscheck_integrity_changed',
    location: 'syscheck',
    rule: {
      id: '100140',
      level: 7,
      description: 'A watched file has changed',
      groups: ['syscheck', 'syscheck_entry_modified', 'syscheck_file'],
      mitre: {
        id: ['T1565.001'],
        tactic: ['Impact'],
        technique: ['Stored Data Manipulation'],
      },
    },
    find: (scene) =>
      changedFile(
        scene,
        'modified',
        scene.random.pick(['/etc/passwd', '/etc/ssh/sshd_config', '/etc/crontab', '/etc/hosts']),
      ),
  },
  {
    weight: 4,
    os: 'linux',
    decoder: 'syscheck_new_entry',
    location: 'syscheck',
    rule: {
      id: '100141',
      level: 5,
      description: 'A file appeared in a watched folder',
      groups: ['syscheck', 'syscheck_entry_added', 'syscheck_file'],
    },
    find: (scene) => changedFile(scene, 'added', `/var/www/html/${scene.random.hex(8)}.php`),
  },
  {
    weight: 2,
    os: 'linux',
    decoder: 'syscheck_deleted',
    location: 'syscheck',
    rule: {
      id: '100142',
      level: 7,
      description: 'A watched file was deleted',
      groups: ['syscheck', 'syscheck_entry_deleted', 'syscheck_file'],
      mitre: { id: ['T1070.004'], tactic: ['Defense Evasion'], technique: ['File Deletion'] },
    },
    find: (scene) => changedFile(scene, 'deleted', '/var/log/wtmp'),
  },
  {
    weight: 1,
    os: 'linux',
    decoder: 'rootcheck',
    location: 'rootcheck',
    rule: {
      id: '100150',
      level: 11,
      description: 'A port is hidden from the tools that list ports: a kernel rootkit is possible',
      groups: ['rootcheck', 'ossec'],
      mitre: { id: ['T1014'], tactic: ['Defense Evasion'], technique: ['Rootkit'] },
    },
    find: ({ random }) => {
      const port = random.whole(1_025, 65_000)
      return {
        full_log: `Port '${port}'(tcp) hidden. Kernel-level rootkit or trojaned version of netstat.`,
        data: { title: 'Hidden port', port: String(port) },
      }
    },
  },
  {
    weight: 4,
    os: 'linux',
    decoder: 'json',
    location: 'vulnerability-detector',
    rule: {
      id: '100160',
      level: 7,
      description: 'An installed package has a vulnerability of medium severity',
      groups: ['vulnerability-detector'],
    },
    find: (scene) => vulnerable(scene, 'Medium'),
  },
  {
    weight: 1,
    os: 'linux',
    decoder: 'json',
    location: 'vulnerability-detector',
    rule: {
      id: '100161',
      level: 13,
      description: 'An installed package has a critical vulnerability',
      groups: ['vulnerability-detector'],
    },
    find: (scene) => vulnerable(scene, 'Critical'),
  },
  {
    weight: 3,
    os: 'linux',
    decoder: 'json',
    location: 'Wazuh-Docker',
    rule: {
      id: '100170',
      level: 3,
      description: 'A container was started',
      groups: ['docker'],
    },
    find: ({ random }) => {
      const image = random.pick(['registry.example/shop:3.2', 'registry.example/cache:7'])
      const docker = { status: 'start', from: image, id: random.hex(64), Type: 'container' }
      return { full_log: JSON.stringify(docker), data: { integration: 'docker', docker } }
    },
  },
  {
    weight: 1,
    os: 'linux',
    decoder: 'json',
    location: 'Wazuh-Docker',
    rule: {
      id: '100171',
      level: 8,
      description: 'A shell was opened inside a container',
      groups: ['docker', 'attack'],
      mitre: {
        id: ['T1609'],
        tactic: ['Execution'],
        technique: ['Container Administration Command'],
      },
    },
    find: ({ random }) => {
      const docker = { status: 'exec_create: /bin/sh', from: 'registry.example/shop:3.2', id: random.hex(64) }
      return { full_log: JSON.stringify(docker), data: { integration: 'docker', docker } }
    },
  },
  {
    weight: 3,
    os: 'linux',
    decoder: 'ossec',
    location: 'wazuh-monitord',
    rule: { id: '100101', level: 0, description: 'An agent says that it is alive', groups: ['ossec'] },
    find: ({ agent }) => ({ full_log: `ossec: Agent alive: '${agent.name}->any'.` }),
  },
  {
    weight: 2,
    os: 'linux',
    decoder: 'kernel',
    location: '/var/log/kern.log',
    rule: {
      id: '100180',
      level: 2,
      description: 'A program ended with a segmentation fault',
      groups: ['syslog', 'errors'],
    },
    find: (scene) => ({
      ...syslog(scene, 'kernel', `report-maker[${scene.random.whole(900, 9_000)}]: segfault at 0 ip 0 sp 0`),
      data: { process: { name: 'report-maker' } },
    }),
  },
]
