import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;

/**
 * Holds and waits for locks with Curator: {@code CuratorClient SERVERS}.
 *
 * <p>Reads one command per line from stdin and prints one line per result:
 *
 * <pre>
 * mutex|read|write|semaphore|latch PATH IDENTIFIER    in a thread; prints "held IDENTIFIER" once it has the lock
 * release IDENTIFIER                                  prints "released IDENTIFIER"
 * count PATH FILE ROUNDS                              ROUNDS times: takes the mutex and checks that no other holder is in it
 * churn PATH ROUNDS                                   contenders of several sessions change the owner ROUNDS times
 * deleted                                             prints how many nodes of `churn` were gone before they were released
 * fill PATH COUNT                                     holds COUNT locks below PATH
 * crowd PATH COUNT                                    creates COUNT contenders of one lock
 * </pre>
 */
public class CuratorClient {
    interface Release {
        void run() throws Exception;
    }

    static final Map<String, Runnable> RELEASES = new ConcurrentHashMap<>();

    static synchronized void report(String text) {
        System.out.println(text);
        System.out.flush();
    }

    static Runnable quietly(Release release) {
        return () -> {
            try {
                release.run();
            } catch (Exception error) {
                report("failed " + error);
            }
        };
    }

    /** Takes the lock, and waits in the same thread until it is to be released. */
    static void hold(InterProcessMutex lock, String identifier) throws Exception {
        lock.acquire();
        Object released = new Object();
        AtomicInteger isReleased = new AtomicInteger();
        RELEASES.put(identifier, () -> {
            synchronized (released) {
                isReleased.set(1);
                released.notifyAll();
            }
        });
        report("held " + identifier);
        synchronized (released) {
            while (isReleased.get() == 0) {
                released.wait();
            }
        }
        lock.release();
        report("released " + identifier);
    }

    static void acquire(CuratorFramework client, String kind, String path, String identifier) throws Exception {
        switch (kind) {
            case "mutex":
                hold(new InterProcessMutex(client, path), identifier);
                break;
            case "read":
                hold(new InterProcessReadWriteLock(client, path, identifier.getBytes()).readLock(), identifier);
                break;
            case "write":
                hold(new InterProcessReadWriteLock(client, path, identifier.getBytes()).writeLock(), identifier);
                break;
            case "semaphore":
                InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, 2);
                semaphore.setNodeData(identifier.getBytes());
                var lease = semaphore.acquire();
                RELEASES.put(identifier, quietly(() -> {
                    semaphore.returnLease(lease);
                    report("released " + identifier);
                }));
                report("held " + identifier);
                break;
            case "latch":
                LeaderLatch latch = new LeaderLatch(client, path, identifier);
                latch.start();
                RELEASES.put(identifier, quietly(() -> {
                    latch.close();
                    report("released " + identifier);
                }));
                latch.await();
                report("held " + identifier);
                break;
            default:
                report("failed unknown command " + kind);
        }
    }

    /** Creates and removes a file in each critical section; it must not exist before. */
    static void count(CuratorFramework client, String path, String file, int rounds) throws Exception {
        InterProcessMutex lock = new InterProcessMutex(client, path);
        var section = java.nio.file.Path.of(file);
        for (int round = 0; round < rounds; round++) {
            lock.acquire();
            try {
                java.nio.file.Files.createFile(section);
                java.nio.file.Files.delete(section);
            } finally {
                lock.release();
            }
        }
        report("counted " + rounds);
    }

    static final String LOCK_NAME = "_c_%s-lock-";
    static final AtomicInteger DELETED = new AtomicInteger();

    static String contend(CuratorFramework client, String path) throws Exception {
        String name = String.format(LOCK_NAME, java.util.UUID.randomUUID());
        return client.create()
                .creatingParentContainersIfNeeded()
                .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                .forPath(path + "/" + name, "127.0.0.1".getBytes());
    }

    /** Keeps three contenders in the queue, and releases the first one again and again. */
    static void churn(CuratorFramework client, String path, int rounds) throws Exception {
        var queue = new java.util.ArrayDeque<String>();
        for (int round = 0; round < rounds; round++) {
            while (queue.size() < 3) {
                queue.add(contend(client, path));
            }
            // The work of the holder.
            Thread.sleep(java.util.concurrent.ThreadLocalRandom.current().nextInt(6));
            try {
                client.delete().forPath(queue.remove());
            } catch (KeeperException.NoNodeException gone) {
                DELETED.incrementAndGet();
            }
        }
        for (String rest : queue) {
            try {
                client.delete().forPath(rest);
            } catch (KeeperException.NoNodeException gone) {
                DELETED.incrementAndGet();
            }
        }
        report("churned " + rounds);
    }

    static void fill(CuratorFramework client, String path, int count, boolean isOneLock) throws Exception {
        var pending = new java.util.concurrent.CountDownLatch(count);
        for (int n = 0; n < count; n++) {
            String directory = isOneLock ? path : path + "/lock-of-" + n;
            String name = String.format(LOCK_NAME, java.util.UUID.randomUUID());
            client.create()
                    .creatingParentContainersIfNeeded()
                    .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                    .inBackground((ignored, event) -> pending.countDown())
                    .forPath(directory + "/" + name, "127.0.0.1".getBytes());
        }
        pending.await();
        report((isOneLock ? "crowded " : "filled ") + count);
    }

    public static void main(String[] arguments) throws Exception {
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(arguments[0], 10_000, 10_000, new ExponentialBackoffRetry(100, 10));
        client.start();
        client.blockUntilConnected();
        report("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("deleted")) {
                report("deleted " + DELETED.get());
                continue;
            }
            if (words[0].equals("release")) {
                RELEASES.get(words[1]).run();
                continue;
            }
            Thread thread = new Thread(quietly(() -> {
                switch (words[0]) {
                    case "count":
                        count(client, words[1], words[2], Integer.parseInt(words[3]));
                        break;
                    case "churn":
                        churn(client, words[1], Integer.parseInt(words[2]));
                        break;
                    case "fill":
                    case "crowd":
                        fill(client, words[1], Integer.parseInt(words[2]), words[0].equals("crowd"));
                        break;
                    default:
                        acquire(client, words[0], words[1], words[2]);
                }
            }));
            thread.setDaemon(true);
            thread.start();
        }
    }
}
