import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** usage: Forward BROKER APPLICATION SOURCE SINK STATE_DIR: copies bytes. */
public final class Forward {
    public static void main(String[] args) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
            .to(args[3], Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
        Running.start(builder, args);
    }
}
