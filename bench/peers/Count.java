import java.nio.ByteBuffer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** usage: Count BROKER APPLICATION SOURCE SINK STATE_DIR: a line `count,sum` of its key for every whole number.
 * The store is RocksDB with a changelog, as it is by default. */
public final class Count {
    private record Total(long count, long sum) {
        Total plus(String amount) {
            return new Total(count + 1, sum + Long.parseLong(amount));
        }

        String line() {
            return count + "," + sum;
        }

        byte[] bytes() {
            return ByteBuffer.allocate(2 * Long.BYTES).putLong(count).putLong(sum).array();
        }

        static Total of(byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new Total(buffer.getLong(), buffer.getLong());
        }
    }

    public static void main(String[] args) {
        Serde<Total> totals = Serdes.serdeFrom(
            (topic, total) -> total == null ? null : total.bytes(), (topic, bytes) -> bytes == null ? null : Total.of(bytes));
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[2], Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.ByteArray(), Serdes.String()))
            .aggregate(
                () -> new Total(0, 0),
                (key, amount, total) -> total.plus(amount),
                Materialized.<byte[], Total, KeyValueStore<Bytes, byte[]>>as("totals")
                    .withKeySerde(Serdes.ByteArray())
                    .withValueSerde(totals))
            .toStream()
            .mapValues(Total::line)
            .to(args[3], Produced.with(Serdes.ByteArray(), Serdes.String()));
        Running.start(builder, args);
    }
}
