/** Label of the node that runs our own pods as processes, and key of the taint that keeps all others away. */
export const LOCAL_NODE_LABEL = 'service.dev/local-node'
/** Label of the nodes that KWOK plays. */
export const SIMULATED_NODE_LABEL = 'service.dev/simulated-node'
